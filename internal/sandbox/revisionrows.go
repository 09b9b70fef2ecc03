package sandbox

import (
	"database/sql"
)

// storedColumns are alike in the tables of assets and of revisions.
const storedColumns = "revision, number, content, size, digest, image, width, height, made_at, made_by"

// scanStored reads the columns before, and then those of what is stored.
func scanStored(scan func(...any) error, before ...any) (stored, error) {
	var st stored
	var made int64
	var by sql.Null[string]
	err := scan(append(before, &st.revision, &st.number, &st.content, &st.size, &st.digest,
		&st.picture.state, &st.picture.width, &st.picture.height, &made, &by)...)
	st.made, st.by = fromMillis(made), by.V
	return st, err
}

// insertRevision keeps what an asset held.
func insertRevision(s *session, assetID string, st stored) error {
	_, err := s.exec("INSERT INTO revisions (asset_id, "+storedColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		assetID, st.revision, st.number, st.content, st.size, st.digest,
		st.picture.state, st.picture.width, st.picture.height, millis(st.made), orNull(st.by))
	return err
}

// updateStored sets what an asset holds.
func updateStored(s *session, a asset) error {
	_, err := s.exec(`UPDATE assets SET revision = ?, number = ?, content = ?, size = ?, digest = ?, image = ?, width = ?, height = ?,
			made_at = ?, made_by = ?, modified_at = ?, processed_at = ? WHERE id = ?`,
		a.revision, a.number, a.content, a.size, a.digest, a.picture.state, a.picture.width, a.picture.height,
		millis(a.made), orNull(a.by), millis(a.Modified), millis(a.Processed), a.ID)
	return err
}

// selectRevisions gives what an asset held before, newest first.
func selectRevisions(s *session, assetID string) (found []stored, err error) {
	err = s.rows("SELECT "+storedColumns+" FROM revisions WHERE asset_id = ? ORDER BY number DESC",
		[]any{assetID}, func(r *sql.Rows) error {
			st, err := scanStored(r.Scan)
			found = append(found, st)
			return err
		})
	return found, err
}

// lastNumber is that of the newest revision of an asset.
func lastNumber(s *session, a asset) (n int, err error) {
	err = s.row("SELECT max(?, coalesce(max(number), 0)) FROM revisions WHERE asset_id = ?", []any{a.number, a.ID}, &n)
	return n, err
}

// selectRevision finds one that is not current.
func selectRevision(s *session, assetID, revision string) (stored, error) {
	stmt, err := s.prepare("SELECT " + storedColumns + " FROM revisions WHERE asset_id = ? AND revision = ?")
	if err != nil {
		return stored{}, err
	}
	st, err := scanStored(stmt.QueryRow(assetID, revision).Scan)
	return st, notThere(err)
}

// deleteRevision reports whether there was such a revision.
func deleteRevision(s *session, assetID, revision string) (found bool, err error) {
	n, err := s.exec("DELETE FROM revisions WHERE asset_id = ? AND revision = ?", assetID, revision)
	return n > 0, err
}

// takeReleased gives the names of the stored bytes that nothing needs any more
// since it was asked last. Such a name never comes back into use, because only
// what has it can pass it on; so the bytes may be removed after the commit.
func takeReleased(s *session) (contents []string, err error) {
	err = s.rows("DELETE FROM released RETURNING content", nil, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		contents = append(contents, id)
		return err
	})
	return contents, err
}

// hasContent reports whether an asset or a revision needs stored bytes.
func (st *store) hasContent(id string) (ok bool, err error) {
	err = st.read(func(s *session) error {
		return s.row(`SELECT EXISTS (SELECT 1 FROM assets WHERE content = ?)
			OR EXISTS (SELECT 1 FROM revisions WHERE content = ?)`, []any{id, id}, &ok)
	})
	return ok, err
}
