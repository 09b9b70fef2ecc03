package shelves

import (
	"database/sql"
	"slices"

	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sorting"
)

// shelvedWorkspace counts the contents of a workspace.
func shelvedWorkspace(s *store.Session, w records.Workspace) (library.Workspace, error) {
	shown := library.Workspace{Ref: library.Ref{ID: w.ID, Name: w.Name}, Environment: w.Environment}
	const here = " FROM assets WHERE category_id IN (SELECT id FROM categories WHERE workspace_id = ?) AND trashed_at IS NULL"
	if err := s.Row("SELECT count(*), coalesce(sum(size), 0)"+here, []any{w.ID}, &shown.Assets, &shown.Bytes); err != nil {
		return shown, err
	}
	err := s.Row(`SELECT (SELECT count(*) FROM categories WHERE workspace_id = ?1),
		(SELECT count(*) FROM assets WHERE workspace_id = ?1 AND trashed_at IS NOT NULL)`, []any{w.ID}, &shown.CategoriesCount, &shown.Trashed)
	return shown, err
}

// measureCategory counts the folders and the assets of a category, without the trash.
func measureCategory(s *store.Session, id string) (folders, assets int, size int64, err error) {
	err = s.Row("SELECT count(*), coalesce(sum(size), 0) FROM assets WHERE category_id = ? AND trashed_at IS NULL", []any{id}, &assets, &size)
	if err == nil {
		err = s.Row("SELECT count(*) FROM folders WHERE category_id = ?", []any{id}, &folders)
	}
	return folders, assets, size, err
}

// shelvedOrder returns the SQL for an order of assets.
func shelvedOrder(o library.Order) (string, error) {
	direction := map[bool]string{false: "asc", true: "desc"}[o.Descending]
	return records.OrderBy(string(o.By), direction, records.AssetFields())
}

func shelvedFolders(s *store.Session, in library.Place, o library.Order, at library.Span) (shown []library.Folder, total int, err error) {
	const here = " FROM folders f WHERE f.parent_id IS ? AND f.category_id = ?"
	place := []any{store.OrNull(in.Folder), in.Category}
	if err := s.Row("SELECT count(*)"+here, place, &total); err != nil {
		return nil, 0, err
	}
	direction := map[bool]string{false: "ASC", true: "DESC"}[o.Descending]
	column := map[library.Field]string{library.ByUploaded: "f.created_at"}[o.By]
	if column == "" { // folders have no size
		column = "f.name"
		if o.By != library.ByName {
			direction = "ASC"
		}
	}
	shown, err = readFolders(s, here+" ORDER BY "+column+" "+direction+", f.seq "+direction+" LIMIT ? OFFSET ?", append(place, at.Limit, at.Offset))
	return shown, total, err
}

// shelvedTree lists the folders of a category, each followed by its subfolders.
func shelvedTree(s *store.Session, category string, at library.Span) (shown []library.Folder, total int, err error) {
	if err := s.Row("SELECT count(*) FROM folders WHERE category_id = ?", []any{category}, &total); err != nil {
		return nil, 0, err
	}
	// Equal names are sorted by creation, so that two trees do not mix.
	const tree = ` FROM (
		WITH RECURSIVE tree (id, path) AS (
			SELECT id, name || char(1) || printf('%016x', seq) FROM folders WHERE category_id = ?1 AND parent_id IS NULL
			UNION ALL
			SELECT f.id, tree.path || char(1) || f.name || char(1) || printf('%016x', f.seq)
			FROM tree JOIN folders f ON f.parent_id = tree.id
		) SELECT id, path FROM tree ORDER BY path LIMIT ?2 OFFSET ?3
	) t JOIN folders f ON f.id = t.id ORDER BY t.path`
	if shown, err = readFolders(s, tree, []any{category, at.Limit, at.Offset}); err != nil {
		return nil, 0, err
	}
	for i := range shown {
		around, err := records.SelectAncestors(s, shown[i].ID)
		if err != nil {
			return nil, 0, err
		}
		shown[i].Around = refs(around)
	}
	return shown, total, nil
}

const foldersWithin = ", (SELECT count(*) FROM folders w WHERE w.parent_id = f.id AND w.category_id = f.category_id)"

func readFolders(s *store.Session, from string, args []any) (shown []library.Folder, err error) {
	err = s.Rows("SELECT "+records.FolderColumns+foldersWithin+from, args, func(r *sql.Rows) error {
		var within int
		f, err := records.ScanFolder(r.Scan, &within)
		shown = append(shown, library.Folder{Ref: library.Ref{ID: f.ID, Name: f.Name}, Folders: within, Assets: f.Assets, Created: f.Created})
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown, countWithin(s, shown)
}

// countWithin counts the assets in folders and all their subfolders.
func countWithin(s *store.Session, shown []library.Folder) error {
	at := make(map[string]int)
	var ids []string
	for i, f := range shown {
		at[f.ID] = i
		ids = append(ids, f.ID)
	}
	return s.Rows(`WITH RECURSIVE below (top, id, category_id) AS (
			SELECT id, id, category_id FROM folders WHERE id IN (SELECT value FROM json_each(?))
			UNION ALL
			SELECT b.top, f.id, f.category_id FROM below b JOIN folders f ON f.parent_id = b.id AND f.category_id = b.category_id
		) SELECT top, sum((SELECT count(*) FROM assets a WHERE a.category_id = b.category_id AND a.folder_id = b.id AND trashed_at IS NULL))
		FROM below b GROUP BY top`, []any{records.JsonArray(ids)}, func(r *sql.Rows) error {
		var top string
		var n int
		err := r.Scan(&top, &n)
		shown[at[top]].AssetsWithin = n
		return err
	})
}

// shelvedFolder counts the contents of a folder, and finds the enclosing folders.
func shelvedFolder(s *store.Session, f records.Folder) (library.Folder, error) {
	found, err := readFolders(s, " FROM folders f WHERE f.id = ?", []any{f.ID})
	if err == nil && len(found) == 0 { // deleted meanwhile
		err = store.ErrNotThere
	}
	if err != nil {
		return library.Folder{}, err
	}
	around, err := records.SelectAncestors(s, f.ID)
	found[0].Around = refs(around)
	return found[0], err
}

// refs returns the names of folders in reverse order, the outermost first.
func refs(folders []records.Folder) []library.Ref {
	var all []library.Ref
	for _, f := range slices.Backward(folders) {
		all = append(all, library.Ref{ID: f.ID, Name: f.Name})
	}
	return all
}

// selectNewest returns the newest assets of a workspace.
func selectNewest(s *store.Session, workspace string, n int) ([]records.Asset, error) {
	return records.ReadAssets(s, " FROM assets WHERE workspace_id = ? AND trashed_at IS NULL ORDER BY seq DESC LIMIT ?", []any{workspace, n})
}

// selectAnyAsset returns an asset, in the trash or not.
func selectAnyAsset(s *store.Session, id string) (records.Asset, error) {
	found, err := records.ReadAssets(s, " FROM assets WHERE id = ?", []any{id})
	if err == nil && len(found) == 0 {
		err = store.ErrNotThere
	}
	if err != nil {
		return records.Asset{}, err
	}
	return found[0], nil
}

func shelvedAssets(s *store.Session, found []records.Asset) ([]library.Asset, error) {
	var ids []string
	for _, a := range found {
		ids = append(ids, a.Category, a.Folder)
	}
	names, private, err := selectPlaces(s, records.JsonArray(ids))
	if err != nil {
		return nil, err
	}
	var shown []library.Asset
	for _, a := range found {
		v := library.Asset{
			ID: a.ID, Name: a.Name, Extension: a.Extension, Type: naming.MimeType(naming.Fold(a.Extension)), Size: a.Size,
			Category: library.Ref{ID: a.Category, Name: names[a.Category]}, Private: private[a.Category],
			Description: a.Description, Uploaded: a.Uploaded, Changed: a.Modified, Trashed: a.Trashed,
		}
		if a.Folder != "" {
			v.Folder = library.Ref{ID: a.Folder, Name: names[a.Folder]}
		}
		if a.IsImage() {
			v.State, v.Width, v.Height = library.ImageState(a.Processing), a.Picture.Width, a.Picture.Height
			if a.Picture.State == "broken" {
				v.State = library.Damaged
			}
		}
		shown = append(shown, v)
	}
	return shown, nil
}

// selectPlaces returns the names of categories and folders by ID, and the private categories.
func selectPlaces(s *store.Session, ids string) (names map[string]string, private map[string]bool, err error) {
	names, private = make(map[string]string), make(map[string]bool)
	err = s.Rows(`SELECT id, name, private FROM categories WHERE id IN (SELECT value FROM json_each(?1))
		UNION ALL SELECT id, name, 0 FROM folders WHERE id IN (SELECT value FROM json_each(?1))`, []any{ids}, func(r *sql.Rows) error {
		var id, name string
		var hidden bool
		err := r.Scan(&id, &name, &hidden)
		names[id], private[id] = name, hidden
		return err
	})
	return names, private, err
}

func shelvedRevisions(s *store.Session, a records.Asset) ([]library.Revision, error) {
	older, err := records.SelectRevisions(s, a.ID)
	if err != nil {
		return nil, err
	}
	var all []library.Revision
	for _, st := range append(older, a.Stored) {
		all = append(all, library.Revision{
			ID: st.Revision, Number: st.Number, Current: st.Revision == a.Revision, Size: st.Size, Made: st.Made, By: st.By,
		})
	}
	sorting.By(all, func(a, b library.Revision) int { return b.Number - a.Number })
	return all, nil
}
