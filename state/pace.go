package state

import (
	"context"
	"database/sql"
	"time"
)

// A Pace is what a run got done within a minute, and how much of the minute that took,
// from its first outcome to its last.
type Pace struct {
	Items, Bytes int64
	Span         time.Duration
}

// Paces gives the paces of runs to a destination, the newest first and at most so many.
func (s *Store) Paces(ctx context.Context, destination string, limit int) ([]Pace, error) {
	return query(ctx, s.r, "list paces", func(rows *sql.Rows) (p Pace, err error) {
		var span int64
		err = rows.Scan(&p.Items, &p.Bytes, &span)
		p.Span = time.Duration(span) * time.Millisecond
		return p, err
	}, `SELECT t.items, t.bytes, t.last - t.first FROM pairs p JOIN runs r ON r.pair = p.id JOIN throughput t ON t.run = r.num
		WHERE p.destination = ? ORDER BY t.minute DESC, t.run DESC LIMIT ?`, destination, limit)
}
