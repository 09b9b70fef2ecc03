package state

import (
	"context"
	"database/sql"
	"time"
)

// Intend notes, before it is asked for, that a folder is to be made, or a category
// where the path is empty; at is the server's time. SaveFolder and SaveNewFolder
// forget the intent.
func (s *Store) Intend(ctx context.Context, destination string, p PlaceKey, at time.Time) error {
	return s.Write(ctx, "note intent", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO intents (destination, category, path, at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET at = excluded.at`, destination, p.Category, p.Path, at.UnixMilli())
		return err
	})
}

// ForgetIntent takes an intent back that came to nothing, or to something that
// needs no other note.
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

// Intents lists what was asked for at a destination without an answer so far.
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
