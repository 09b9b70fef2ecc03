package records

import (
	"database/sql"

	"assetferry/internal/sandbox/store"
)

// storedColumns are the common columns of assets and revisions.
const storedColumns = "revision, number, content, size, checksum, image, width, height, made_at, made_by"

// scanStored scans the columns before, then those of the stored content.
func scanStored(scan func(...any) error, before ...any) (Stored, error) {
	var st Stored
	var made int64
	var by sql.Null[string]
	err := scan(append(before, &st.Revision, &st.Number, &st.Content, &st.Size, &st.Checksum,
		&st.Picture.State, &st.Picture.Width, &st.Picture.Height, &made, &by)...)
	st.Made, st.By = store.FromMillis(made), by.V
	return st, err
}

// InsertRevision stores the previous content of an asset.
func InsertRevision(s *store.Session, assetID string, st Stored) error {
	_, err := s.Exec("INSERT INTO revisions (asset_id, "+storedColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		assetID, st.Revision, st.Number, st.Content, st.Size, st.Checksum,
		st.Picture.State, st.Picture.Width, st.Picture.Height, store.Millis(st.Made), store.OrNull(st.By))
	return err
}

// UpdateStored sets the content of an asset.
func UpdateStored(s *store.Session, a Asset) error {
	_, err := s.Exec(`UPDATE assets SET revision = ?, number = ?, content = ?, size = ?, checksum = ?, image = ?, width = ?, height = ?,
			made_at = ?, made_by = ?, modified_at = ?, processed_at = ? WHERE id = ?`,
		a.Revision, a.Number, a.Content, a.Size, a.Checksum, a.Picture.State, a.Picture.Width, a.Picture.Height,
		store.Millis(a.Made), store.OrNull(a.By), store.Millis(a.Modified), store.Millis(a.Processed), a.ID)
	return err
}

// SelectRevisions returns the old revisions of an asset, newest first.
func SelectRevisions(s *store.Session, assetID string) (found []Stored, err error) {
	err = s.Rows("SELECT "+storedColumns+" FROM revisions WHERE asset_id = ? ORDER BY number DESC",
		[]any{assetID}, func(r *sql.Rows) error {
			st, err := scanStored(r.Scan)
			found = append(found, st)
			return err
		})
	return found, err
}

// LastNumber returns the number of the newest revision.
func LastNumber(s *store.Session, a Asset) (n int, err error) {
	err = s.Row("SELECT max(?, coalesce(max(number), 0)) FROM revisions WHERE asset_id = ?", []any{a.Number, a.ID}, &n)
	return n, err
}

// SelectRevision returns an old revision.
func SelectRevision(s *store.Session, assetID, revision string) (Stored, error) {
	stmt, err := s.Prepare("SELECT " + storedColumns + " FROM revisions WHERE asset_id = ? AND revision = ?")
	if err != nil {
		return Stored{}, err
	}
	st, err := scanStored(stmt.QueryRow(assetID, revision).Scan)
	return st, store.NotThere(err)
}

// DeleteRevision deletes an old revision and reports whether it existed.
func DeleteRevision(s *store.Session, assetID, revision string) (found bool, err error) {
	n, err := s.Exec("DELETE FROM revisions WHERE asset_id = ? AND revision = ?", assetID, revision)
	return n > 0, err
}
