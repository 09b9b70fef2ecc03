package state

import (
	"context"
	"database/sql"
	"iter"

	"assetferry/sources"
)

// A SkippedObject is one that a run skipped, and why.
type SkippedObject struct {
	Key    sources.Key
	Reason string
	Size   int64
}

// NewSkips lists the objects that a run skipped for one of some reasons, in key order, if no
// earlier finished run of the pair skipped the same object for the same reason. Runs whose
// items were pruned are not asked.
func (s *Store) NewSkips(ctx context.Context, run Run, reasons []string) iter.Seq2[SkippedObject, error] {
	scan := func(rows *sql.Rows) (k SkippedObject, err error) { return k, rows.Scan(&k.Key, &k.Reason, &k.Size) }
	return paged(s.r, "", func(k SkippedObject) sources.Key { return k.Key }, func(after sources.Key) ([]SkippedObject, error) {
		return query(ctx, s.r, "list new skips", scan, `SELECT i.key, i.reason, i.size FROM items i
			WHERE i.run = ?1 AND i.key > ?3 AND i.state = 'skipped' AND NOT EXISTS (
				SELECT 1 FROM runs e CROSS JOIN items p ON p.run = e.num AND p.key = i.key
				WHERE e.pair = ?2 AND e.num < ?1 AND e.state = 'finished' AND e.command <> 'plan' AND e.undoes IS NULL AND e.pruned_at IS NULL
				AND p.state = 'skipped' AND p.reason = i.reason)
			AND i.reason IN `+List(len(reasons))+` ORDER BY i.key LIMIT ?`, append(listed(reasons, run.Num, run.Pair.ID, after), PageSize)...)
	})
}
