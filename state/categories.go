package state

import (
	"context"
	"database/sql"
)

// A Category is a category of a destination, as it was last seen.
type Category struct {
	ID      string
	Name    string
	Private bool // its assets are not for everybody
}

// SaveCategories notes categories of a destination as they are now. What is known of
// others stays, so that reports have the names of those that are gone.
func (s *Store) SaveCategories(ctx context.Context, destination string, all []Category) error {
	return s.Write(ctx, "save categories", func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range all {
			if _, err := tx.ExecContext(ctx, `INSERT INTO categories (destination, id, name, private) VALUES (?, ?, ?, ?)
				ON CONFLICT (destination, id) DO UPDATE SET name = excluded.name, private = excluded.private`,
				destination, c.ID, c.Name, c.Private); err != nil {
				return err
			}
		}
		return nil
	})
}

// Categories gives the categories of a destination that were ever seen, by id.
func (s *Store) Categories(ctx context.Context, destination string) (map[string]Category, error) {
	all, err := query(ctx, s.r, "list categories", func(rows *sql.Rows) (c Category, err error) {
		return c, rows.Scan(&c.ID, &c.Name, &c.Private)
	}, `SELECT id, name, private FROM categories WHERE destination = ?`, destination)
	byID := make(map[string]Category, len(all))
	for _, c := range all {
		byID[c.ID] = c
	}
	return byID, err
}
