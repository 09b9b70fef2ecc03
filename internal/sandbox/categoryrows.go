package sandbox

import (
	"database/sql"
	"encoding/json"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/store"
)

func insertCategory(s *store.Session, c category) error {
	_, err := s.Exec("INSERT INTO categories (id, workspace_id, name, private) VALUES (?, ?, ?, ?)",
		c.ID, c.workspace, c.Name, c.Private)
	if err != nil {
		return err
	}
	return setExtensions(s, c)
}

func setExtensions(s *store.Session, c category) error {
	for i, e := range c.Extensions {
		_, err := s.Exec(`INSERT INTO extensions (category_id, folded, extension, position) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET extension = excluded.extension, position = excluded.position`, c.ID, naming.Fold(e), e, i)
		if err != nil {
			return err
		}
	}
	return nil
}

func updateCategory(s *store.Session, c category) error {
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
	return setExtensions(s, c)
}

func selectCategory(s *store.Session, id string) (category, error) {
	c := category{ID: id}
	var extensions string
	err := s.Row(`SELECT workspace_id, name, private, (
			SELECT json_group_array(extension ORDER BY position) FROM extensions WHERE category_id = c.id
		) FROM categories c WHERE id = ?`, []any{id}, &c.workspace, &c.Name, &c.Private, &extensions)
	if err != nil {
		return c, store.NotThere(err)
	}
	return c, json.Unmarshal([]byte(extensions), &c.Extensions)
}

// categoryIDs lists the categories of a workspace that may be entered, in the
// order that was given to them, then those that have none in that of creation.
func categoryIDs(s *store.Session, r rights, workspace string) (ids []string, err error) {
	err = s.Rows("SELECT id FROM categories WHERE workspace_id = ? ORDER BY position IS NULL, position, seq", []any{workspace},
		func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			if r.may(mayAccess, id) {
				ids = append(ids, id)
			}
			return err
		})
	return ids, err
}

// setOrder numbers the categories of a workspace.
func setOrder(s *store.Session, ids []string) error {
	for i, id := range ids {
		if _, err := s.Exec("UPDATE categories SET position = ? WHERE id = ?", i, id); err != nil {
			return err
		}
	}
	return nil
}

// selectCategories lists the categories of a workspace that may be entered.
func selectCategories(s *store.Session, r rights, workspace string, limit, offset int, inUse bool) ([]categoryView, int, error) {
	ids, err := categoryIDs(s, r, workspace)
	if err != nil {
		return nil, 0, err
	}
	views := []categoryView{}
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

func viewCategory(s *store.Session, id string, inUse bool) (categoryView, error) {
	c, err := selectCategory(s, id)
	if err != nil {
		return categoryView{}, err
	}
	v := c.view()
	if v.AssetsCount, err = countCategory(s, id); err != nil || !inUse {
		return v, err
	}
	used, err := extensionsIn(s, "assets", jsonArray([]string{id}))
	v.ExtensionsInUse = &used
	return v, err
}

// extensionsIn gives the extensions that categories have in one of our tables.
func extensionsIn(s *store.Session, table, categories string) ([]string, error) {
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

// countCategory counts the assets of a category and its folders, without the
// trash: a guess.
func countCategory(s *store.Session, id string) (n int, err error) {
	err = s.Row("SELECT count(*) FROM assets WHERE category_id = ? AND trashed_at IS NULL", []any{id}, &n)
	return n, err
}

// categoryFor is the first category of a workspace that takes an extension.
func categoryFor(s *store.Session, workspace, folded string) (id string, err error) {
	err = s.Row(`SELECT c.id FROM categories c JOIN extensions e ON e.category_id = c.id
		WHERE c.workspace_id = ? AND e.folded = ? ORDER BY c.position IS NULL, c.position, c.seq LIMIT 1`, []any{workspace, folded}, &id)
	return id, store.NotThere(err)
}

// takes reports whether a category allows an extension.
func takes(s *store.Session, category, folded string) (ok bool, err error) {
	err = s.Row("SELECT EXISTS (SELECT 1 FROM extensions WHERE category_id = ? AND folded = ?)", []any{category, folded}, &ok)
	return ok, err
}
