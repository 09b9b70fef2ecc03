package state

import (
	"context"
	"database/sql"
	"iter"
	"time"
)

// A Failure is an object that could not be brought to the destination, as it was
// then.
type Failure struct {
	Key        string
	Size       int64
	Time       time.Time
	VersionTag string
	Runs       int // in which it failed, one after the other
	Error      string
}

// Failures lists the failures of a pair in key order, those with keys after the
// given one.
func (s *Store) Failures(ctx context.Context, pair int64, after string) iter.Seq2[Failure, error] {
	return paged(after, func(f Failure) string { return f.Key }, func(after string) ([]Failure, error) {
		return query(ctx, s.r, "list failures", func(rows *sql.Rows) (f Failure, err error) {
			var modified int64
			err = rows.Scan(&f.Key, &f.Size, &modified, &f.VersionTag, &f.Runs, &f.Error)
			f.Time = fromNanos(modified)
			return f, err
		}, `SELECT key, size, time, version_tag, runs, error FROM failures
			WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, pageSize)
	})
}
