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

// SaveFolder remembers a folder that is at the destination. What it holds is not
// ours alone, as far as is known.
func (s *Store) SaveFolder(ctx context.Context, destination, category, path, id string) error {
	return s.saveFolder(ctx, destination, category, path, id, deleteOurs)
}

// SaveNewFolder remembers a folder that we have just made.
func (s *Store) SaveNewFolder(ctx context.Context, destination, category, path, id string) error {
	return s.saveFolder(ctx, destination, category, path, id, insertOurs)
}

func (s *Store) saveFolder(ctx context.Context, destination, category, path, id, ours string) error {
	return s.write(ctx, "save folder", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO folders (destination, category, path, id) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET id = excluded.id`, destination, category, path, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, ours, destination, category, path)
		return err
	})
}

const (
	insertOurs = `INSERT INTO ours (destination, category, path) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	deleteOurs = `DELETE FROM ours WHERE destination = ? AND category = ? AND path = ?`
)

// SaveOurs remembers that a folder, or a category where the path is empty, holds
// directly no assets but ours.
func (s *Store) SaveOurs(ctx context.Context, destination, category, path string) error {
	return s.write(ctx, "save container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertOurs, destination, category, path)
		return err
	})
}

// ForgetOurs takes back what SaveOurs or SaveNewFolder remembered: there may be an
// asset that the journal does not know.
func (s *Store) ForgetOurs(ctx context.Context, destination, category, path string) error {
	return s.write(ctx, "forget container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, deleteOurs, destination, category, path)
		return err
	})
}

// IsOurs reports what SaveOurs and SaveNewFolder remembered.
func (s *Store) IsOurs(ctx context.Context, destination, category, path string) (ours bool, err error) {
	err = s.r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ours WHERE destination = ? AND category = ? AND path = ?)`,
		destination, category, path).Scan(&ours)
	return ours, wrap("look up container", err)
}

func (s *Store) pairsOfText(ctx context.Context, op, stmt string, args ...any) (map[string]string, error) {
	type entry struct{ k, v string }
	entries, err := query(ctx, s.r, op, func(rows *sql.Rows) (e entry, err error) {
		return e, rows.Scan(&e.k, &e.v)
	}, stmt, args...)
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		m[e.k] = e.v
	}
	return m, err
}
