package state

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"assetferry/sources"
)

// FinishedBefore lists the finished runs of the pair and wave of a run before it, without undos, the
// newest first.
func (s *Store) FinishedBefore(ctx context.Context, run Run, limit int) ([]Run, error) {
	return query(ctx, s.r, "list runs", scanRun, `SELECT `+runColumns+` WHERE r.pair = ? AND r.num < ? AND r.state = 'finished'
		AND r.wave = ? AND r.undoes IS NULL ORDER BY r.num DESC LIMIT ?`, run.Pair.ID, run.Num, run.Pair.Wave, limit)
}

// FirstOf lists the first items of a tally of a run, in key order.
func (s *Store) FirstOf(ctx context.Context, run int64, t Tally, limit int) ([]Item, error) {
	return query(ctx, s.r, "list items", scanItems(), `SELECT `+itemColumns+` FROM items
		WHERE run = ? AND coalesce(action, '') = ? AND reason = ? AND state = ? ORDER BY key LIMIT ?`, run, t.Action, t.Reason, t.State, limit)
}

// A Missed is an uploaded object that a run did not find at the source any more.
type Missed struct {
	ItemStatus
	Reason string
	Since  time.Time // of the listing that missed it first; zero if unknown
	Again  bool      // the run before had missed it as well
}

// Missed lists the objects that a run did not find, its items with an obstacle, in key order,
// compared with an earlier run; 0 is no run.
func (s *Store) Missed(ctx context.Context, run Run, before int64, absent string) iter.Seq2[Missed, error] {
	return paged(s.r, "", func(m Missed) sources.Key { return m.Key }, func(after sources.Key) ([]Missed, error) {
		return query(ctx, s.r, "list missed objects", func(rows *sql.Rows) (m Missed, err error) {
			var since int64
			err = rows.Scan((*string)(&m.Key), &m.Size, &m.Action, &m.State, &m.Reason, &since, &m.Again)
			if since != 0 {
				m.Since = fromMillis(since)
			}
			return m, err
		}, `SELECT i.key, i.size, coalesce(i.action, ''), i.state, i.reason, coalesce(o.since, 0),
				EXISTS (SELECT 1 FROM items b WHERE b.run = ?2 AND b.key = i.key AND b.obstacle = ?3)
			FROM items i LEFT JOIN orphans o ON o.pair = ?4 AND o.key = i.key AND o.since <= ?5
			WHERE i.run = ?1 AND i.obstacle = ?3 AND i.key > ?6 ORDER BY i.key LIMIT ?7`,
			run.Num, before, absent, run.Pair.ID, run.ListedAt.UnixMilli(), after, PageSize)
	})
}

// failedItems selects items that did not reach the destination.
const failedItems = `state IN ('failed', 'retries_exhausted', 'changed', 'conflict', 'retry_scheduled', 'unconfirmed')`

// A LongFailure is a failed item of a run, and since when its object fails.
type LongFailure struct {
	ItemStatus
	Since time.Time // zero if unknown
	Runs  int       // one after the other; 0 if that is not counted
	Error string
}

// LongFailures lists failed items of a run, the longest failing first.
func (s *Store) LongFailures(ctx context.Context, run Run, limit int) ([]LongFailure, error) {
	return query(ctx, s.r, "list failures", func(rows *sql.Rows) (l LongFailure, err error) {
		var since int64
		err = rows.Scan(&l.Key, &l.Size, &l.Action, &l.State, &since, &l.Runs, &l.Error)
		if since != 0 {
			l.Since = fromMillis(since)
		}
		return l, err
	}, `SELECT i.key, i.size, coalesce(i.action, ''), i.state, coalesce(f.since, 0), coalesce(f.runs, 0), CASE i.error WHEN '' THEN i.reason ELSE i.error END
		FROM items i LEFT JOIN failures f ON f.pair = ?2 AND f.key = i.key AND f.since <= ?3
		WHERE i.run = ?1 AND i.`+failedItems+` ORDER BY coalesce(f.runs, 0) DESC, coalesce(f.since, 0), i.key LIMIT ?4`,
		run.Num, run.Pair.ID, run.StartedAt.UnixMilli(), limit)
}

// Recovered lists the objects that failed in an earlier run and succeeded, or were unchanged, in a
// later one, in key order. Moves are read once: no index has the previous keys.
func (s *Store) Recovered(ctx context.Context, run Run, before int64) iter.Seq2[ItemStatus, error] {
	return paged(s.r, "", func(f ItemStatus) sources.Key { return f.Key }, func(after sources.Key) ([]ItemStatus, error) {
		return query(ctx, s.r, "list recovered objects", func(rows *sql.Rows) (f ItemStatus, err error) {
			return f, rows.Scan((*string)(&f.Key), &f.Size, &f.Action, &f.State)
		}, `SELECT b.key, coalesce(i.size, b.size), coalesce(i.action, 'unchanged'), coalesce(i.state, 'skipped')
			FROM items b LEFT JOIN items i ON i.run = ?1 AND i.key = b.key
			WHERE b.run = ?2 AND b.`+failedItems+` AND b.key > ?4
			AND (i.state = 'done' AND i.action <> 'trash' OR i.action = 'unchanged'
				OR i.key IS NULL AND EXISTS (SELECT 1 FROM receipts c WHERE c.pair = ?3 AND c.key = b.key AND c.run <= ?1)
					AND b.key NOT IN (SELECT previous_key FROM items WHERE run = ?1 AND action IN ('move', 'replace')))
			ORDER BY b.key LIMIT ?5`, run.Num, before, run.Pair.ID, after, PageSize)
	})
}

// A SkippedObject is one that a run skipped, and why.
type SkippedObject struct {
	Key    sources.Key
	Reason string
	Size   int64
}

// NewSkips lists the objects that a run skipped for one of some reasons, in key order, if no
// earlier finished run of the pair skipped the same object for the same reason. Pruned runs are
// ignored.
func (s *Store) NewSkips(ctx context.Context, run Run, reasons []string) iter.Seq2[SkippedObject, error] {
	scan := func(rows *sql.Rows) (k SkippedObject, err error) {
		return k, rows.Scan((*string)(&k.Key), &k.Reason, &k.Size)
	}
	return paged(s.r, "", func(k SkippedObject) sources.Key { return k.Key }, func(after sources.Key) ([]SkippedObject, error) {
		return query(ctx, s.r, "list new skips", scan, `SELECT i.key, i.reason, i.size FROM items i
			WHERE i.run = ?1 AND i.key > ?3 AND i.state = 'skipped' AND NOT EXISTS (
				SELECT 1 FROM runs e CROSS JOIN items p ON p.run = e.num AND p.key = i.key
				WHERE e.pair = ?2 AND e.num < ?1 AND e.state = 'finished' AND e.command <> 'plan' AND e.undoes IS NULL AND e.pruned_at IS NULL
				AND p.state = 'skipped' AND p.reason = i.reason)
			AND i.reason IN `+List(len(reasons))+` ORDER BY i.key LIMIT ?`, append(listed(reasons, run.Num, run.Pair.ID, after), PageSize)...)
	})
}
