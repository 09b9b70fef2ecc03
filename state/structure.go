package state

import (
	"context"
	"database/sql"
	"time"
)

// A Category is a category of a destination, as it was last seen.
type Category struct {
	ID      string
	Name    string
	Private bool // its assets are not for all users
}

// SaveCategories stores the current categories of a destination. Other known categories stay, so
// that reports have the names of deleted ones.
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

// Categories returns all categories of a destination that were ever seen, by ID.
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

// Choices returns the chosen category of each extension at a destination.
func (s *Store) Choices(ctx context.Context, destination string) (map[string]string, error) {
	return s.pairsOfText(ctx, "list category choices", `SELECT extension, category FROM choices WHERE destination = ?`, destination)
}

// SaveChoices stores the chosen categories of extensions, replacing earlier ones. A category that
// was deleted at the destination is deleted with its choices.
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

// Folders returns the IDs of the known folders in a category, by path.
func (s *Store) Folders(ctx context.Context, destination, category string) (map[string]string, error) {
	return s.pairsOfText(ctx, "list folders", `SELECT path, id FROM folders WHERE destination = ? AND category = ?`, destination, category)
}

// PathOfFolder returns the path of a folder within its category; ErrNotFound if the folder is
// unknown.
func (s *Store) PathOfFolder(ctx context.Context, destination, category, id string) (string, error) {
	all, err := query(ctx, s.r, "find folder", scanText, `SELECT path FROM folders WHERE destination = ? AND category = ? AND id = ?`,
		destination, category, id)
	return First(all, err, "folder "+id)
}

// SaveFolder stores a folder of the destination. It may hold assets of others.
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

// SaveNewFolder stores a folder that was just created for a pair.
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

// SaveOurs records that a folder, or a category if the path is empty, directly holds only assets of
// the pair.
func (s *Store) SaveOurs(ctx context.Context, pair int64, category, path string) error {
	return s.Write(ctx, "save container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertOurs, pair, category, path)
		return err
	})
}

// ForgetOurs reverts SaveOurs and SaveNewFolder: the folder may hold an unknown asset.
func (s *Store) ForgetOurs(ctx context.Context, pair int64, category, path string) error {
	return s.Write(ctx, "forget container", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM ours WHERE pair = ? AND category = ? AND path = ?`, pair, category, path)
		return err
	})
}

// A PlaceKey names a folder, or a category if the path is empty.
type PlaceKey struct{ Category, Path string }

// ForgetOursOfOthers records that a pair is about to write into places that belonged only to other
// pairs of its destination.
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

// IsOurs reports whether a place holds only assets of the pair; see SaveOurs.
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

// Intend records, before the request, that a folder will be created, or a category if the path is
// empty; at is the server's time. SaveFolder and SaveNewFolder delete the intent.
func (s *Store) Intend(ctx context.Context, destination string, p PlaceKey, at time.Time) error {
	return s.Write(ctx, "note intent", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO intents (destination, category, path, at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET at = excluded.at`, destination, p.Category, p.Path, at.UnixMilli())
		return err
	})
}

// ForgetIntent deletes an intent whose request failed, or needs no record.
func (s *Store) ForgetIntent(ctx context.Context, destination string, p PlaceKey) error {
	return s.Write(ctx, "forget intent", func(ctx context.Context, tx *sql.Tx) error {
		return forgetIntent(ctx, tx, destination, p)
	})
}

func forgetIntent(ctx context.Context, tx *sql.Tx, destination string, p PlaceKey) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM intents WHERE destination = ? AND category = ? AND path = ?`,
		destination, p.Category, p.Path)
	return err
}

// Intents lists the unanswered creations at a destination.
func (s *Store) Intents(ctx context.Context, destination string) (map[PlaceKey]time.Time, error) {
	type intent struct {
		place PlaceKey
		at    int64
	}
	all, err := query(ctx, s.r, "list intents", func(rows *sql.Rows) (i intent, err error) {
		return i, rows.Scan(&i.place.Category, &i.place.Path, &i.at)
	}, `SELECT category, path, at FROM intents WHERE destination = ?`, destination)
	places := make(map[PlaceKey]time.Time, len(all))
	for _, i := range all {
		places[i.place] = fromMillis(i.at)
	}
	return places, err
}

// MissingFolders counts the unknown folders that the planned items of a run need, with their
// parents, and the known folders or categories that have to be listed for them first.
func (s *Store) MissingFolders(ctx context.Context, run int64, destination string) (missing, around int64, err error) {
	// Trimming the characters after the last slash of a path leaves its parent.
	err = s.r.row(ctx, "count missing folders", `WITH RECURSIVE
		wanted (category, path) AS (
			SELECT DISTINCT `+categoryColumn+`, folder FROM (
				SELECT DISTINCT base, category, folder FROM items WHERE run = ?1 AND action = 'create' AND state = 'planned' AND folder <> '')
			UNION SELECT category, rtrim(rtrim(path, replace(path, '/', '')), '/') FROM wanted WHERE instr(path, '/') > 0),
		missing (category, parent) AS (
			SELECT category, CASE WHEN instr(path, '/') > 0 THEN rtrim(rtrim(path, replace(path, '/', '')), '/') ELSE '' END FROM wanted w
			WHERE NOT EXISTS (SELECT 1 FROM folders f WHERE f.destination = ?2 AND f.category = w.category AND f.path = w.path))
		SELECT count(*), count(DISTINCT CASE WHEN parent = '' OR EXISTS (SELECT 1 FROM folders f
			WHERE f.destination = ?2 AND f.category = m.category AND f.path = m.parent) THEN category || '/' || parent END)
		FROM missing m`, run, destination).Scan(&missing, &around)
	return missing, around, err
}
