package records

import (
	"database/sql"
	"encoding/json"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/store"
)

const AssetColumns = `id, workspace_id, category_id, coalesce(folder_id, ''), name, extension,
	uploaded_at, modified_at, processed_at, trashed_at, description, tags, attributes, analysis,
	CASE image WHEN 'no' THEN '' ELSE (SELECT state FROM pictures p WHERE p.content = assets.content) END,
	CASE image WHEN 'no' THEN '' ELSE (SELECT blur_hash FROM pictures p WHERE p.content = assets.content) END, ` +
	storedColumns

func ScanAsset(scan func(...any) error) (Asset, error) {
	var a Asset
	var uploaded, modified, processed int64
	var trashed sql.Null[int64]
	var tags, attributes string
	var err error
	a.Stored, err = scanStored(scan, &a.ID, &a.Workspace, &a.Category, &a.Folder, &a.Name, &a.Extension,
		&uploaded, &modified, &processed, &trashed, &a.Description, &tags, &attributes,
		&a.Analysis, &a.Processing, &a.BlurHash)
	a.Uploaded, a.Modified, a.Processed = store.FromMillis(uploaded), store.FromMillis(modified), store.FromMillis(processed)
	if trashed.Valid {
		a.Trashed = store.FromMillis(trashed.V)
	}
	a.Tags, a.Attributes = json.RawMessage(tags), json.RawMessage(attributes)
	return a, err
}

func InsertAsset(s *store.Session, a Asset) error {
	_, err := s.Exec(`INSERT INTO assets (id, workspace_id, category_id, folder_id, name, normal, extension, folded,
			size, checksum, content, uploaded_at, modified_at, image, processed_at, width, height, description, tags,
			attributes, revision, number, made_at, made_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Workspace, a.Category, store.OrNull(a.Folder), a.Name, naming.Normal(a.Name), a.Extension, naming.Fold(a.Extension),
		a.Size, a.Checksum, a.Content, store.Millis(a.Uploaded), store.Millis(a.Modified), a.Picture.State, store.Millis(a.Processed),
		a.Picture.Width, a.Picture.Height, a.Description, string(a.Tags), string(a.Attributes),
		a.Revision, a.Number, store.Millis(a.Made), store.OrNull(a.By))
	return err
}

func UpdateAsset(s *store.Session, a Asset) error {
	_, err := s.Exec(`UPDATE assets SET name = ?, normal = ?, extension = ?, folded = ?, description = ?, tags = ?,
			attributes = ?, modified_at = ? WHERE id = ?`,
		a.Name, naming.Normal(a.Name), a.Extension, naming.Fold(a.Extension), a.Description, string(a.Tags), string(a.Attributes),
		store.Millis(a.Modified), a.ID)
	return err
}

// SelectAsset returns an asset outside the trash.
func SelectAsset(s *store.Session, id string) (Asset, error) {
	stmt, err := s.Prepare("SELECT " + AssetColumns + " FROM assets WHERE id = ? AND trashed_at IS NULL")
	if err != nil {
		return Asset{}, err
	}
	a, err := ScanAsset(stmt.QueryRow(id).Scan)
	return a, store.NotThere(err)
}

const here = " FROM assets WHERE category_id = ? AND folder_id IS ? AND trashed_at IS NULL"

// SelectOffset counts the assets before an asset in its place.
func SelectOffset(s *store.Session, a Asset, order string) (offset int, err error) {
	err = s.Row("SELECT n - 1 FROM (SELECT id, row_number() OVER (ORDER BY "+order+") AS n"+here+") WHERE id = ?",
		[]any{a.Category, store.OrNull(a.Folder), a.ID}, &offset)
	return offset, store.NotThere(err)
}

// A Listing is a page of the assets in a place.
type Listing struct {
	At            Place
	Deep          bool      // include the folders of a category
	Until         time.Time // omit later uploads; zero: include all
	Order         string    // trusted SQL
	Limit, Offset int
}

func (l Listing) SelectAssets(s *store.Session) ([]Asset, int, error) {
	from, args := here, []any{l.At.Category, store.OrNull(l.At.Folder)}
	if l.Deep {
		from, args = " FROM assets WHERE category_id = ? AND trashed_at IS NULL", args[:1]
	}
	if !l.Until.IsZero() {
		from, args = from+" AND uploaded_at <= ?", append(args, store.Millis(l.Until))
	}
	return pageOfAssets(s, from, l.Order, args, l.Limit, l.Offset)
}

// SelectTrash lists the trash of a workspace in visible categories, newest first.
func SelectTrash(s *store.Session, workspace, visible string, limit, offset int) ([]Asset, int, error) {
	const there = ` FROM assets WHERE workspace_id = ? AND trashed_at IS NOT NULL
		AND category_id IN (SELECT value FROM json_each(?))`
	return pageOfAssets(s, there, "trashed_at DESC, seq DESC", []any{workspace, visible}, limit, offset)
}

// pageOfAssets finds the page first, so that only its assets are loaded and sorted.
func pageOfAssets(s *store.Session, from, order string, args []any, limit, offset int) (found []Asset, total int, err error) {
	if err := s.Row("SELECT count(*)"+from, args, &total); err != nil {
		return nil, 0, err
	}
	page := "SELECT seq" + from + " ORDER BY " + order + " LIMIT ? OFFSET ?"
	found, err = ReadAssets(s, " FROM assets WHERE seq IN ("+page+") ORDER BY "+order, append(args, limit, offset))
	return found, total, err
}

func ReadAssets(s *store.Session, from string, args []any) (found []Asset, err error) {
	err = s.Rows("SELECT "+AssetColumns+from, args, func(r *sql.Rows) error {
		a, err := ScanAsset(r.Scan)
		found = append(found, a)
		return err
	})
	return found, err
}
