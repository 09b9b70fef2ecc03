package sandbox

import (
	"database/sql"
	"encoding/json"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/store"
)

const assetColumns = `id, workspace_id, category_id, coalesce(folder_id, ''), name, extension,
	uploaded_at, modified_at, processed_at, trashed_at, description, tags, attributes, analysis,
	CASE image WHEN 'no' THEN '' ELSE (SELECT state FROM pictures p WHERE p.content = assets.content) END,
	CASE image WHEN 'no' THEN '' ELSE (SELECT blur_hash FROM pictures p WHERE p.content = assets.content) END, ` +
	storedColumns

func scanAsset(scan func(...any) error) (asset, error) {
	var a asset
	var uploaded, modified, processed int64
	var trashed sql.Null[int64]
	var tags, attributes string
	var err error
	a.stored, err = scanStored(scan, &a.ID, &a.Workspace, &a.Category, &a.Folder, &a.Name, &a.Extension,
		&uploaded, &modified, &processed, &trashed, &a.Description, &tags, &attributes,
		&a.Analysis, &a.Processing, &a.BlurHash)
	a.Uploaded, a.Modified, a.Processed = store.FromMillis(uploaded), store.FromMillis(modified), store.FromMillis(processed)
	if trashed.Valid {
		a.Trashed = store.FromMillis(trashed.V)
	}
	a.Tags, a.Attributes = json.RawMessage(tags), json.RawMessage(attributes)
	return a, err
}

func insertAsset(s *store.Session, a asset) error {
	_, err := s.Exec(`INSERT INTO assets (id, workspace_id, category_id, folder_id, name, normal, extension, folded,
			size, digest, content, uploaded_at, modified_at, image, processed_at, width, height, description, tags,
			attributes, revision, number, made_at, made_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Workspace, a.Category, store.OrNull(a.Folder), a.Name, naming.Normal(a.Name), a.Extension, naming.Fold(a.Extension),
		a.size, a.digest, a.content, store.Millis(a.Uploaded), store.Millis(a.Modified), a.picture.state, store.Millis(a.Processed),
		a.picture.width, a.picture.height, a.Description, string(a.Tags), string(a.Attributes),
		a.revision, a.number, store.Millis(a.made), store.OrNull(a.by))
	return err
}

func updateAsset(s *store.Session, a asset) error {
	_, err := s.Exec(`UPDATE assets SET name = ?, normal = ?, extension = ?, folded = ?, description = ?, tags = ?,
			attributes = ?, modified_at = ? WHERE id = ?`,
		a.Name, naming.Normal(a.Name), a.Extension, naming.Fold(a.Extension), a.Description, string(a.Tags), string(a.Attributes),
		store.Millis(a.Modified), a.ID)
	return err
}

// selectAsset finds an asset that is not in the trash.
func selectAsset(s *store.Session, id string) (asset, error) {
	stmt, err := s.Prepare("SELECT " + assetColumns + " FROM assets WHERE id = ? AND trashed_at IS NULL")
	if err != nil {
		return asset{}, err
	}
	a, err := scanAsset(stmt.QueryRow(id).Scan)
	return a, store.NotThere(err)
}

const here = " FROM assets WHERE category_id = ? AND folder_id IS ? AND trashed_at IS NULL"

// selectOffset counts what comes before an asset in its place.
func selectOffset(s *store.Session, a asset, order string) (offset int, err error) {
	err = s.Row("SELECT n - 1 FROM (SELECT id, row_number() OVER (ORDER BY "+order+") AS n"+here+") WHERE id = ?",
		[]any{a.Category, store.OrNull(a.Folder), a.ID}, &offset)
	return offset, store.NotThere(err)
}

// A listing is a page of what is in a place.
type listing struct {
	at            place
	deep          bool      // also what is in the folders of a category
	until         time.Time // what was uploaded later is not listed yet; zero: all is
	order         string    // SQL of ours
	limit, offset int
}

func (l listing) selectAssets(s *store.Session) ([]asset, int, error) {
	from, args := here, []any{l.at.category, store.OrNull(l.at.folder)}
	if l.deep {
		from, args = " FROM assets WHERE category_id = ? AND trashed_at IS NULL", args[:1]
	}
	if !l.until.IsZero() {
		from, args = from+" AND uploaded_at <= ?", append(args, store.Millis(l.until))
	}
	return pageOfAssets(s, from, l.order, args, l.limit, l.offset)
}

// selectTrash lists the trash of a workspace, newest first, as far as its
// categories are visible.
func selectTrash(s *store.Session, workspace, visible string, limit, offset int) ([]asset, int, error) {
	const there = ` FROM assets WHERE workspace_id = ? AND trashed_at IS NOT NULL
		AND category_id IN (SELECT value FROM json_each(?))`
	return pageOfAssets(s, there, "trashed_at DESC, seq DESC", []any{workspace, visible}, limit, offset)
}

// pageOfAssets finds the page first, so that no more than that is sorted with all
// that is known of its assets.
func pageOfAssets(s *store.Session, from, order string, args []any, limit, offset int) (found []asset, total int, err error) {
	if err := s.Row("SELECT count(*)"+from, args, &total); err != nil {
		return nil, 0, err
	}
	page := "SELECT seq" + from + " ORDER BY " + order + " LIMIT ? OFFSET ?"
	found, err = readAssets(s, " FROM assets WHERE seq IN ("+page+") ORDER BY "+order, append(args, limit, offset))
	return found, total, err
}

func readAssets(s *store.Session, from string, args []any) (found []asset, err error) {
	err = s.Rows("SELECT "+assetColumns+from, args, func(r *sql.Rows) error {
		a, err := scanAsset(r.Scan)
		found = append(found, a)
		return err
	})
	return found, err
}
