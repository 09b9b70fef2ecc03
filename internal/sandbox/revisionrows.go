package sandbox

import (
	"database/sql"

	"assetferry/internal/sandbox/store"
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
	st.made, st.by = store.FromMillis(made), by.V
	return st, err
}

// insertRevision keeps what an asset held.
func insertRevision(s *store.Session, assetID string, st stored) error {
	_, err := s.Exec("INSERT INTO revisions (asset_id, "+storedColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		assetID, st.revision, st.number, st.content, st.size, st.digest,
		st.picture.state, st.picture.width, st.picture.height, store.Millis(st.made), store.OrNull(st.by))
	return err
}

// updateStored sets what an asset holds.
func updateStored(s *store.Session, a asset) error {
	_, err := s.Exec(`UPDATE assets SET revision = ?, number = ?, content = ?, size = ?, digest = ?, image = ?, width = ?, height = ?,
			made_at = ?, made_by = ?, modified_at = ?, processed_at = ? WHERE id = ?`,
		a.revision, a.number, a.content, a.size, a.digest, a.picture.state, a.picture.width, a.picture.height,
		store.Millis(a.made), store.OrNull(a.by), store.Millis(a.Modified), store.Millis(a.Processed), a.ID)
	return err
}

// selectRevisions gives what an asset held before, newest first.
func selectRevisions(s *store.Session, assetID string) (found []stored, err error) {
	err = s.Rows("SELECT "+storedColumns+" FROM revisions WHERE asset_id = ? ORDER BY number DESC",
		[]any{assetID}, func(r *sql.Rows) error {
			st, err := scanStored(r.Scan)
			found = append(found, st)
			return err
		})
	return found, err
}

// lastNumber is that of the newest revision of an asset.
func lastNumber(s *store.Session, a asset) (n int, err error) {
	err = s.Row("SELECT max(?, coalesce(max(number), 0)) FROM revisions WHERE asset_id = ?", []any{a.number, a.ID}, &n)
	return n, err
}

// selectRevision finds one that is not current.
func selectRevision(s *store.Session, assetID, revision string) (stored, error) {
	stmt, err := s.Prepare("SELECT " + storedColumns + " FROM revisions WHERE asset_id = ? AND revision = ?")
	if err != nil {
		return stored{}, err
	}
	st, err := scanStored(stmt.QueryRow(assetID, revision).Scan)
	return st, store.NotThere(err)
}

// deleteRevision reports whether there was such a revision.
func deleteRevision(s *store.Session, assetID, revision string) (found bool, err error) {
	n, err := s.Exec("DELETE FROM revisions WHERE asset_id = ? AND revision = ?", assetID, revision)
	return n > 0, err
}
