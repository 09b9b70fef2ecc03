package store

import "database/sql"

// takeReleased returns and clears the names of unused stored bytes. A name is never used again,
// because only its owner can share it, so the bytes can be deleted after the commit.
func takeReleased(s *Session) (contents []string, err error) {
	err = s.Rows("DELETE FROM released RETURNING content", nil, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		contents = append(contents, id)
		return err
	})
	return contents, err
}

// HasContent reports whether an asset or a revision uses stored bytes.
func (st *Store) HasContent(id string) (ok bool, err error) {
	err = st.Read(func(s *Session) error {
		return s.Row(`SELECT EXISTS (SELECT 1 FROM assets WHERE content = ?)
			OR EXISTS (SELECT 1 FROM revisions WHERE content = ?)`, []any{id, id}, &ok)
	})
	return ok, err
}
