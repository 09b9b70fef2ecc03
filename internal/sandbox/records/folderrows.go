package records

import (
	"database/sql"

	"assetferry/internal/sandbox/store"
)

const FolderColumns = `f.id, f.name, f.category_id, coalesce(f.parent_id, ''), f.created_at, f.updated_at, (
	SELECT count(*) FROM assets WHERE category_id = f.category_id AND folder_id = f.id AND trashed_at IS NULL)`

func ScanFolder(scan func(...any) error, more ...any) (Folder, error) {
	var f Folder
	var created, updated int64
	err := scan(append([]any{&f.ID, &f.Name, &f.Category, &f.Parent, &created, &updated, &f.Assets}, more...)...)
	f.Created, f.Updated = store.FromMillis(created), store.FromMillis(updated)
	return f, err
}

func InsertFolder(s *store.Session, f Folder) error {
	_, err := s.Exec(`INSERT INTO folders (id, category_id, parent_id, name, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?)`, f.ID, f.Category, store.OrNull(f.Parent), f.Name, store.Millis(f.Created), store.Millis(f.Updated))
	return err
}

func SelectFolder(s *store.Session, id string) (Folder, error) {
	var workspace string
	stmt, err := s.Prepare("SELECT " + FolderColumns + `, c.workspace_id
		FROM folders f JOIN categories c ON c.id = f.category_id WHERE f.id = ?`)
	if err != nil {
		return Folder{}, err
	}
	f, err := ScanFolder(stmt.QueryRow(id).Scan, &workspace)
	f.Workspace = workspace
	return f, store.NotThere(err)
}

// SelectFolders returns the top-level folders of a workspace, or all folders.
func SelectFolders(s *store.Session, workspace string, all bool) (found []Folder, err error) {
	err = s.Rows("SELECT "+FolderColumns+` FROM folders f JOIN categories c ON c.id = f.category_id
		WHERE c.workspace_id = ? AND (? OR f.parent_id IS NULL) ORDER BY f.seq`, []any{workspace, all}, func(r *sql.Rows) error {
		f, err := ScanFolder(r.Scan)
		found = append(found, f)
		return err
	})
	return found, err
}

// SelectTree returns a folder and its subfolders down to depth, parents first.
func SelectTree(s *store.Session, id string, depth int) (found []Folder, err error) {
	err = s.Rows(`WITH RECURSIVE tree (id, depth) AS (
			SELECT ?, 0
			UNION ALL
			SELECT f.id, tree.depth + 1 FROM tree JOIN folders f ON f.parent_id = tree.id WHERE tree.depth < ?
		) SELECT `+FolderColumns+`, tree.depth FROM tree JOIN folders f ON f.id = tree.id ORDER BY tree.depth, f.seq`,
		[]any{id, depth}, func(r *sql.Rows) error {
			var depth int
			f, err := ScanFolder(r.Scan, &depth)
			f.Depth = depth
			found = append(found, f)
			return err
		})
	return found, err
}

// SelectAncestors returns the parents of a folder, the innermost first.
func SelectAncestors(s *store.Session, id string) (found []Folder, err error) {
	err = s.Rows(`WITH RECURSIVE up (id, height) AS (
			SELECT parent_id, 1 FROM folders WHERE id = ?
			UNION ALL
			SELECT f.parent_id, up.height + 1 FROM up JOIN folders f ON f.id = up.id
		) SELECT `+FolderColumns+` FROM up JOIN folders f ON f.id = up.id ORDER BY up.height`,
		[]any{id}, func(r *sql.Rows) error {
			f, err := ScanFolder(r.Scan)
			found = append(found, f)
			return err
		})
	return found, err
}

// DissolveFolder moves the content of a folder to its parent.
func DissolveFolder(s *store.Session, f Folder) error {
	up := "(SELECT parent_id FROM folders WHERE id = ?)"
	for _, q := range []string{
		"UPDATE folders SET parent_id = " + up + " WHERE parent_id = ? AND category_id = ?",
		"UPDATE assets SET folder_id = " + up + ", displaced = trashed_at IS NOT NULL WHERE folder_id = ? AND category_id = ?",
	} {
		if _, err := s.Exec(q, f.ID, f.ID, f.Category); err != nil {
			return err
		}
	}
	return s.Change("DELETE FROM folders WHERE id = ?", f.ID)
}
