package state

import (
	"context"
	"database/sql"
	"time"
)

// keepCalls is how many minutes requests are remembered: no budget is for longer.
const keepCalls = 2 * 24 * 60

// AddCalls counts requests to a destination by the minute (since 1970) they were
// made in.
func (s *Store) AddCalls(ctx context.Context, destination string, perMinute map[int64]int64) error {
	return s.Write(ctx, "count requests", func(ctx context.Context, tx *sql.Tx) error {
		for minute, n := range perMinute {
			if _, err := tx.ExecContext(ctx, `INSERT INTO calls (destination, minute, n) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET n = n + excluded.n`, destination, minute, n); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE destination = ? AND minute < ?`, destination, s.now().Unix()/60-keepCalls)
		return err
	})
}

// Calls gives the requests to a destination since a time, by minute.
func (s *Store) Calls(ctx context.Context, destination string, since time.Time) (map[int64]int64, error) {
	type count struct{ minute, n int64 }
	counts, err := query(ctx, s.r, "list requests", func(rows *sql.Rows) (c count, err error) {
		return c, rows.Scan(&c.minute, &c.n)
	}, `SELECT minute, n FROM calls WHERE destination = ? AND minute >= ?`, destination, since.Unix()/60)
	perMinute := make(map[int64]int64, len(counts))
	for _, c := range counts {
		perMinute[c.minute] = c.n
	}
	return perMinute, err
}
