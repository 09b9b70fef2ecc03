package sandbox

import (
	"database/sql"

	"assetferry/internal/sandbox/store"
)

const folderColumns = `f.id, f.name, f.category_id, coalesce(f.parent_id, ''), f.created_at, f.updated_at, (
	SELECT count(*) FROM assets WHERE category_id = f.category_id AND folder_id = f.id AND trashed_at IS NULL)`

func scanFolder(scan func(...any) error, more ...any) (folder, error) {
	var f folder
	var created, updated int64
	err := scan(append([]any{&f.ID, &f.Name, &f.Category, &f.Parent, &created, &updated, &f.Assets}, more...)...)
	f.Created, f.Updated = store.FromMillis(created), store.FromMillis(updated)
	return f, err
}

func insertFolder(s *store.Session, f folder) error {
	_, err := s.Exec(`INSERT INTO folders (id, category_id, parent_id, name, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?)`, f.ID, f.Category, store.OrNull(f.Parent), f.Name, store.Millis(f.Created), store.Millis(f.Updated))
	return err
}

func selectFolder(s *store.Session, id string) (folder, error) {
	var workspace string
	stmt, err := s.Prepare("SELECT " + folderColumns + `, c.workspace_id
		FROM folders f JOIN categories c ON c.id = f.category_id WHERE f.id = ?`)
	if err != nil {
		return folder{}, err
	}
	f, err := scanFolder(stmt.QueryRow(id).Scan, &workspace)
	f.workspace = workspace
	return f, store.NotThere(err)
}

// selectFolders gives the folders of a workspace: those at the top of their categories, or
// all of them.
func selectFolders(s *store.Session, workspace string, all bool) (found []folder, err error) {
	err = s.Rows("SELECT "+folderColumns+` FROM folders f JOIN categories c ON c.id = f.category_id
		WHERE c.workspace_id = ? AND (? OR f.parent_id IS NULL) ORDER BY f.seq`, []any{workspace, all}, func(r *sql.Rows) error {
		f, err := scanFolder(r.Scan)
		found = append(found, f)
		return err
	})
	return found, err
}

// selectTree gives a folder and those below it down to depth, parents first.
func selectTree(s *store.Session, id string, depth int) (found []folder, err error) {
	err = s.Rows(`WITH RECURSIVE tree (id, depth) AS (
			SELECT ?, 0
			UNION ALL
			SELECT f.id, tree.depth + 1 FROM tree JOIN folders f ON f.parent_id = tree.id WHERE tree.depth < ?
		) SELECT `+folderColumns+`, tree.depth FROM tree JOIN folders f ON f.id = tree.id ORDER BY tree.depth, f.seq`,
		[]any{id, depth}, func(r *sql.Rows) error {
			var depth int
			f, err := scanFolder(r.Scan, &depth)
			f.depth = depth
			found = append(found, f)
			return err
		})
	return found, err
}

// selectAncestors gives the folders around a folder, the innermost first.
func selectAncestors(s *store.Session, id string) (found []folder, err error) {
	err = s.Rows(`WITH RECURSIVE up (id, height) AS (
			SELECT parent_id, 1 FROM folders WHERE id = ?
			UNION ALL
			SELECT f.parent_id, up.height + 1 FROM up JOIN folders f ON f.id = up.id
		) SELECT `+folderColumns+` FROM up JOIN folders f ON f.id = up.id ORDER BY up.height`,
		[]any{id}, func(r *sql.Rows) error {
			f, err := scanFolder(r.Scan)
			found = append(found, f)
			return err
		})
	return found, err
}

// dissolveFolder moves the contents of a folder to where the folder was.
func dissolveFolder(s *store.Session, f folder) error {
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
