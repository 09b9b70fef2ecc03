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
	return s.Write(ctx, "save category choices", func(ctx context.Context, tx *sql.Tx) error {
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

// SaveFolder remembers a folder that is at the destination. What it holds may be
// anybody's.
func (s *Store) SaveFolder(ctx context.Context, destination, category, path, id string) error {
	return s.Write(ctx, "save folder", func(ctx context.Context, tx *sql.Tx) error {
		if err := saveFolder(ctx, tx, destination, category, path, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE category = ? AND path = ?
			AND pair IN (SELECT id FROM pairs WHERE destination = ?)`, category, path, destination)
		return err
	})
}

// SaveNewFolder remembers a folder that was just made for a pair.
func (s *Store) SaveNewFolder(ctx context.Context, pair Pair, category, path, id string) error {
	return s.Write(ctx, "save folder", func(ctx context.Context, tx *sql.Tx) error {
		if err := saveFolder(ctx, tx, pair.Destination, category, path, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, insertOurs, pair.ID, category, path)
		return err
	})
}

func saveFolder(ctx context.Context, tx *sql.Tx, destination, category, path, id string) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO folders (destination, category, path, id) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET id = excluded.id`, destination, category, path, id); err != nil {
		return err
	}
	return forgetIntent(ctx, tx, destination, PlaceKey{category, path})
}

const insertOurs = `INSERT INTO ours (pair, category, path) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`

// SaveOurs remembers that a folder, or a category where the path is empty, holds
// directly no assets but those of the pair.
func (s *Store) SaveOurs(ctx context.Context, pair int64, category, path string) error {
	return s.Write(ctx, "save container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertOurs, pair, category, path)
		return err
	})
}

// ForgetOurs takes back what SaveOurs or SaveNewFolder remembered: there may be an
// asset that the journal does not know.
func (s *Store) ForgetOurs(ctx context.Context, pair int64, category, path string) error {
	return s.Write(ctx, "forget container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE pair = ? AND category = ? AND path = ?`, pair, category, path)
		return err
	})
}

// A PlaceKey names a folder, or a category where the path is empty.
type PlaceKey struct{ Category, Path string }

// ForgetOursOfOthers notes that a pair is about to put something into places that
// other pairs of its destination may have had to themselves.
func (s *Store) ForgetOursOfOthers(ctx context.Context, pair Pair, places []PlaceKey) error {
	var others bool
	if err := s.r.row(ctx, "share containers", `SELECT EXISTS (SELECT 1 FROM pairs WHERE destination = ? AND id <> ?)`,
		pair.Destination, pair.ID).Scan(&others); err != nil || !others {
		return err
	}
	return s.Write(ctx, "share containers", func(ctx context.Context, tx *sql.Tx) error {
		for _, p := range places {
			if _, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE category = ? AND path = ? AND pair <> ?
				AND pair IN (SELECT id FROM pairs WHERE destination = ?)`, p.Category, p.Path, pair.ID, pair.Destination); err != nil {
				return err
			}
		}
		return nil
	})
}

// IsOurs reports what SaveOurs and SaveNewFolder remembered.
func (s *Store) IsOurs(ctx context.Context, pair int64, category, path string) (ours bool, err error) {
	err = s.r.row(ctx, "look up container", `SELECT EXISTS (SELECT 1 FROM ours WHERE pair = ? AND category = ? AND path = ?)`,
		pair, category, path).Scan(&ours)
	return ours, err
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
