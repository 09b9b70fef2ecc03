package records

import (
	"database/sql"
	"encoding/json"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/store"
)

func InsertCategory(s *store.Session, c Category) error {
	_, err := s.Exec("INSERT INTO categories (id, workspace_id, name, private) VALUES (?, ?, ?, ?)",
		c.ID, c.Workspace, c.Name, c.Private)
	if err != nil {
		return err
	}
	return SetExtensions(s, c)
}

func SetExtensions(s *store.Session, c Category) error {
	for i, e := range c.Extensions {
		_, err := s.Exec(`INSERT INTO extensions (category_id, folded, extension, position) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET extension = excluded.extension, position = excluded.position`, c.ID, naming.Fold(e), e, i)
		if err != nil {
			return err
		}
	}
	return nil
}

func UpdateCategory(s *store.Session, c Category) error {
	if err := s.Change("UPDATE categories SET name = ?, private = ? WHERE id = ?", c.Name, c.Private, c.ID); err != nil {
		return err
	}
	folded := make([]string, len(c.Extensions))
	for i, e := range c.Extensions {
		folded[i] = naming.Fold(e)
	}
	kept, err := json.Marshal(folded)
	if err != nil {
		return err
	}
	const dropped = "DELETE FROM extensions WHERE category_id = ? AND folded NOT IN (SELECT value FROM json_each(?))"
	if _, err := s.Exec(dropped, c.ID, string(kept)); err != nil {
		return err
	}
	return SetExtensions(s, c)
}

func SelectCategory(s *store.Session, id string) (Category, error) {
	c := Category{ID: id}
	var extensions string
	err := s.Row(`SELECT workspace_id, name, private, (
			SELECT json_group_array(extension ORDER BY position) FROM extensions WHERE category_id = c.id
		) FROM categories c WHERE id = ?`, []any{id}, &c.Workspace, &c.Name, &c.Private, &extensions)
	if err != nil {
		return c, store.NotThere(err)
	}
	return c, json.Unmarshal([]byte(extensions), &c.Extensions)
}

// CategoryIDs lists the accessible categories of a workspace in their order. Categories without
// a position follow in order of creation.
func CategoryIDs(s *store.Session, r Rights, workspace string) (ids []string, err error) {
	err = s.Rows("SELECT id FROM categories WHERE workspace_id = ? ORDER BY position IS NULL, position, seq", []any{workspace},
		func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			if r.May(MayAccess, id) {
				ids = append(ids, id)
			}
			return err
		})
	return ids, err
}

// SetOrder stores the order of categories.
func SetOrder(s *store.Session, ids []string) error {
	for i, id := range ids {
		if _, err := s.Exec("UPDATE categories SET position = ? WHERE id = ?", i, id); err != nil {
			return err
		}
	}
	return nil
}

// SelectCategories lists the accessible categories of a workspace.
func SelectCategories(s *store.Session, r Rights, workspace string, limit, offset int, inUse bool) ([]CategoryView, int, error) {
	ids, err := CategoryIDs(s, r, workspace)
	if err != nil {
		return nil, 0, err
	}
	views := []CategoryView{}
	from := min(offset, len(ids))
	for _, id := range ids[from:min(from+limit, len(ids))] {
		v, err := viewCategory(s, id, inUse)
		if err != nil {
			return nil, 0, err
		}
		views = append(views, v)
	}
	return views, len(ids), nil
}

func viewCategory(s *store.Session, id string, inUse bool) (CategoryView, error) {
	c, err := SelectCategory(s, id)
	if err != nil {
		return CategoryView{}, err
	}
	v := c.View()
	if v.AssetsCount, err = CountCategory(s, id); err != nil || !inUse {
		return v, err
	}
	used, err := ExtensionsIn(s, "assets", JsonArray([]string{id}))
	v.ExtensionsInUse = &used
	return v, err
}

// ExtensionsIn returns the extensions of categories in a table.
func ExtensionsIn(s *store.Session, table, categories string) ([]string, error) {
	found := []string{}
	err := s.Rows("SELECT DISTINCT folded FROM "+table+" WHERE category_id IN (SELECT value FROM json_each(?)) ORDER BY folded",
		[]any{categories}, func(r *sql.Rows) error {
			var e string
			err := r.Scan(&e)
			found = append(found, e)
			return err
		})
	return found, err
}

// CountCategory counts the assets of a category with its folders, without the trash: a guess.
func CountCategory(s *store.Session, id string) (n int, err error) {
	err = s.Row("SELECT count(*) FROM assets WHERE category_id = ? AND trashed_at IS NULL", []any{id}, &n)
	return n, err
}

// CategoryFor returns the first category of a workspace that allows an extension.
func CategoryFor(s *store.Session, workspace, folded string) (id string, err error) {
	err = s.Row(`SELECT c.id FROM categories c JOIN extensions e ON e.category_id = c.id
		WHERE c.workspace_id = ? AND e.folded = ? ORDER BY c.position IS NULL, c.position, c.seq LIMIT 1`, []any{workspace, folded}, &id)
	return id, store.NotThere(err)
}

// Takes reports whether a category allows an extension.
func Takes(s *store.Session, category, folded string) (ok bool, err error) {
	err = s.Row("SELECT EXISTS (SELECT 1 FROM extensions WHERE category_id = ? AND folded = ?)", []any{category, folded}, &ok)
	return ok, err
}
