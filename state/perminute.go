package state

import (
	"context"
	"database/sql"
	"time"
)

// A Minute is the progress of a run in one minute: items with an outcome, and the bytes of the
// uploaded ones.
type Minute struct {
	At           time.Time // its beginning
	Items, Bytes int64
}

// Throughput lists the minutes in which a run made progress, in order.
func (s *Store) Throughput(ctx context.Context, run int64) ([]Minute, error) {
	return query(ctx, s.r, "list throughput", func(rows *sql.Rows) (m Minute, err error) {
		var minute int64
		err = rows.Scan(&minute, &m.Items, &m.Bytes)
		m.At = time.Unix(minute*60, 0).UTC()
		return m, err
	}, `SELECT minute, items, bytes FROM throughput WHERE run = ? ORDER BY minute`, run)
}

// count adds to the progress of the run in this minute.
func (r *recorder) count(ctx context.Context, outcomes []Outcome) error {
	var items, bytes int64
	for _, o := range outcomes {
		switch o.State {
		case ItemUnconfirmed, ItemSent, ItemRetryScheduled: // they have no outcome yet
			continue
		}
		items++
		if o.State == ItemDone && o.Receipt != nil && !o.Receipt.Adopted {
			bytes += o.Receipt.Size
		}
	}
	if items == 0 {
		return nil
	}
	_, err := r.tx.ExecContext(ctx, `INSERT INTO throughput (run, minute, items, bytes, first, last) VALUES (?, ?, ?, ?, ?5, ?5)
		ON CONFLICT (run, minute) DO UPDATE SET items = items + excluded.items, bytes = bytes + excluded.bytes,
		first = min(first, excluded.first), last = max(last, excluded.last)`,
		r.run, r.now/time.Minute.Milliseconds(), items, bytes, r.now)
	return err
}

// A Rate is the progress of a run within a minute, and the part of the minute from its first
// outcome to its last.
type Rate struct {
	Items, Bytes int64
	Span         time.Duration
}

// Rates returns the rates of runs to a destination, the newest first, at most limit of them.
func (s *Store) Rates(ctx context.Context, destination string, limit int) ([]Rate, error) {
	return query(ctx, s.r, "list rates", func(rows *sql.Rows) (p Rate, err error) {
		var span int64
		err = rows.Scan(&p.Items, &p.Bytes, &span)
		p.Span = time.Duration(span) * time.Millisecond
		return p, err
	}, `SELECT t.items, t.bytes, t.last - t.first FROM pairs p JOIN runs r ON r.pair = p.id JOIN throughput t ON t.run = r.num
		WHERE p.destination = ? ORDER BY t.minute DESC, t.run DESC LIMIT ?`, destination, limit)
}

// keptMinutes is how long requests are remembered, in minutes: no request limit is for longer.
const keptMinutes = 2 * 24 * 60

// AddRequests adds requests to a destination, by minute since 1970.
func (s *Store) AddRequests(ctx context.Context, destination string, perMinute map[int64]int64) error {
	return s.Write(ctx, "count requests", func(ctx context.Context, tx *sql.Tx) error {
		for minute, n := range perMinute {
			if _, err := tx.ExecContext(ctx, `INSERT INTO calls (destination, minute, n) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET n = n + excluded.n`, destination, minute, n); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE destination = ? AND minute < ?`, destination, s.now().Unix()/60-keptMinutes)
		return err
	})
}

// Requests returns the requests to a destination since a time, by minute.
func (s *Store) Requests(ctx context.Context, destination string, since time.Time) (map[int64]int64, error) {
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
