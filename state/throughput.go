package state

import (
	"context"
	"database/sql"
	"time"
)

// A Minute is what a run got done in one minute: items that came to an outcome, and
// the bytes of those that were sent.
type Minute struct {
	At           time.Time // its beginning
	Items, Bytes int64
}

// Throughput lists the minutes in which a run got something done, in order.
func (s *Store) Throughput(ctx context.Context, run int64) ([]Minute, error) {
	return query(ctx, s.r, "list throughput", func(rows *sql.Rows) (m Minute, err error) {
		var minute int64
		err = rows.Scan(&minute, &m.Items, &m.Bytes)
		m.At = time.Unix(minute*60, 0).UTC()
		return m, err
	}, `SELECT minute, items, bytes FROM throughput WHERE run = ? ORDER BY minute`, run)
}

// count adds to what the run got done in this minute.
func (r *recorder) count(ctx context.Context, outcomes []Outcome) error {
	var items, bytes int64
	for _, o := range outcomes {
		switch o.State {
		case ItemInDoubt, ItemSent, ItemWaiting: // not come to an outcome yet
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
