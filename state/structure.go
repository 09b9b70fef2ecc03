package state

import (
	"context"
	"database/sql"
)

// Choices gives the category chosen for each extension at a destination.
func (s *Store) Choices(ctx context.Context, destination string) (map[string]string, error) {
	return s.pairsOfText(ctx, "list category choices", `SELECT extension, category FROM choices WHERE destination = ?`, destination)
}

// SaveChoices remembers choices of a category. A choice made before stays,
// unless its category is gone from the destination and forgotten with it.
func (s *Store) SaveChoices(ctx context.Context, destination string, choices map[string]string) error {
	return s.write(ctx, "save category choices", func(ctx context.Context, tx *sql.Tx) error {
		for extension, category := range choices {
			if _, err := tx.ExecContext(ctx, `INSERT INTO choices (destination, extension, category) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET category = excluded.category`, destination, extension, category); err != nil {
				return err
			}
		}
		return nil
	})
}

// Folders gives the ids of the folders known in a category, by path.
func (s *Store) Folders(ctx context.Context, destination, category string) (map[string]string, error) {
	return s.pairsOfText(ctx, "list folders", `SELECT path, id FROM folders WHERE destination = ? AND category = ?`, destination, category)
}

// SaveFolder remembers a folder of the destination.
func (s *Store) SaveFolder(ctx context.Context, destination, category, path, id string) error {
	return s.write(ctx, "save folder", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO folders (destination, category, path, id) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET id = excluded.id`, destination, category, path, id)
		return err
	})
}

func (s *Store) pairsOfText(ctx context.Context, op, stmt string, args ...any) (map[string]string, error) {
	type entry struct{ k, v string }
	entries, err := query(ctx, s.reader(), op, func(rows *sql.Rows) (e entry, err error) {
		return e, rows.Scan(&e.k, &e.v)
	}, stmt, args...)
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		m[e.k] = e.v
	}
	return m, err
}
