package state

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"assetferry/sources"
)

// A Failure is an object that could not be uploaded, with its fingerprint at that time.
type Failure struct {
	sources.Object           // as it was when it failed
	Runs           int       // in which it failed, one after the other
	Since          time.Time // start of the first of them; zero if unknown
	Unclear        bool      // the object may have been uploaded
	Refused        bool      // a scan refused its content
	Error          string
}

// ClassRefused is the class of a failure whose cause is that a scan refused the content.
const ClassRefused = "refused"

// CountRefused counts the items of a run whose content a scan refused in this run.
func (s *Store) CountRefused(ctx context.Context, run int64) (n int64, err error) {
	err = s.r.row(ctx, "count refused items", `SELECT count(*) FROM items WHERE run = ? AND state = 'failed' AND class = ?`, run, ClassRefused).Scan(&n)
	return n, err
}

// countFailure counts the failure of an object in a run, once for each run.
func countFailure(ctx context.Context, tx *sql.Tx, run int64, o Outcome) error {
	return countFailures(ctx, tx, `last_run = excluded.last_run`, `i.run = ? AND i.key = ?`, o.Unclear, o.Class == ClassRefused, o.Error, run, o.Key)
}

// countScheduledFailures counts the items of a run that are scheduled for retry as failed: the run
// does not wait for them any longer, and repeated failures must exhaust the retries.
func countScheduledFailures(ctx context.Context, tx *sql.Tx, run int64) error {
	return countFailures(ctx, tx, `FALSE`, `i.run = ? AND i.state = 'retry_scheduled'`, false, false, nil, run)
}

// countFailures counts the chosen items as failed, once for each run; why is the error, nil for the
// items' own errors. An object that has changed starts again. Failures to trash an asset do not
// count.
func countFailures(ctx context.Context, tx *sql.Tx, counted, chosen string, unclear, refused bool, why any, args ...any) error {
	const changed = `size <> excluded.size OR time <> excluded.time OR version_tag <> excluded.version_tag`
	_, err := tx.ExecContext(ctx, `INSERT INTO failures (pair, key, size, time, version_tag, runs, since, last_run, unclear, refused, error)
		SELECT r.pair, i.key, i.size, i.time, i.version_tag, 1, r.started_at, i.run, ?, ?, coalesce(?, i.error)
		FROM items i JOIN runs r ON r.num = i.run WHERE i.action <> 'trash' AND `+chosen+`
		ON CONFLICT (pair, key) DO UPDATE SET
			runs = CASE WHEN `+changed+` THEN 1 WHEN `+counted+` THEN runs ELSE runs + 1 END,
			since = CASE WHEN `+changed+` THEN excluded.since ELSE since END,
			unclear = CASE WHEN `+changed+` THEN excluded.unclear ELSE max(unclear, excluded.unclear) END,
			size = excluded.size, time = excluded.time, version_tag = excluded.version_tag, refused = excluded.refused,
			last_run = excluded.last_run, error = excluded.error`, append([]any{unclear, refused, why}, args...)...)
	return err
}

// Failures lists the failures of a pair in key order, those with keys after the
// given one.
func (s *Store) Failures(ctx context.Context, pair int64, after sources.Key) iter.Seq2[Failure, error] {
	return paged(s.r, after, func(f Failure) sources.Key { return f.Key }, func(after sources.Key) ([]Failure, error) {
		return query(ctx, s.r, "list failures", scanFailure, `SELECT `+failureColumns+`
			WHERE pair = ? AND key > ? ORDER BY key LIMIT ?`, pair, after, PageSize)
	})
}

const failureColumns = `key, size, time, version_tag, runs, coalesce(since, 0), unclear, refused, error FROM failures`

func scanFailure(rows *sql.Rows) (f Failure, err error) {
	var modified, since int64
	err = rows.Scan(&f.Key, &f.Size, &modified, &f.VersionTag, &f.Runs, &since, &f.Unclear, &f.Refused, &f.Error)
	f.Time = fromNanos(modified)
	if since != 0 {
		f.Since = fromMillis(since)
	}
	return f, err
}

// incompleteItems selects the items of a pair, in the runs since one, that no later run has
// uploaded. Later runs may not have included them. Undone runs do not count.
const incompleteItems = ` FROM runs r JOIN items i ON i.run = r.num
	WHERE r.pair = ?1 AND r.num >= ?2 AND r.command NOT IN ('plan', 'undo')
	AND r.num NOT IN (SELECT undoes FROM runs WHERE pair = ?1 AND command = 'undo' AND state = 'finished')
	AND NOT EXISTS (SELECT 1 FROM receipts t WHERE t.pair = ?1 AND t.key = i.key AND t.run >= i.run)
	AND NOT EXISTS (SELECT 1 FROM aliases a WHERE a.pair = ?1 AND a.key = i.key AND a.run >= i.run)`

// CountIncomplete counts the objects that failed in the runs of a pair since one, or were not
// reached by superseded runs, and were not uploaded since. The run retried tried all failures
// again: of earlier runs only items that need a decision count.
func (s *Store) CountIncomplete(ctx context.Context, pair, from, retried int64) (n int64, err error) {
	err = s.r.row(ctx, "count incomplete objects", `SELECT count(DISTINCT i.key)`+incompleteItems+`
		AND (i.state IN ('retries_exhausted', 'conflict') OR r.num >= ?3 AND (i.state IN ('failed', 'changed', 'retry_scheduled', 'unconfirmed')
			OR i.state = 'planned' AND r.state = 'superseded'))`, pair, from, retried).Scan(&n)
	return n, err
}

// IncompleteKeys returns the keys of the objects of CountIncomplete without those that need a
// decision, and those that an unfinished run has not reached.
func (s *Store) IncompleteKeys(ctx context.Context, pair, from int64) ([]sources.Key, error) {
	return query(ctx, s.r, "list incomplete objects", func(rows *sql.Rows) (key sources.Key, err error) { return key, rows.Scan(&key) },
		`SELECT DISTINCT i.key`+incompleteItems+`
		AND (i.state IN ('failed', 'changed', 'retry_scheduled', 'unconfirmed', 'sending', 'sent') OR i.state = 'planned' AND (r.state IN ('applying', 'superseded') OR `+hasBegun+`))`, pair, from)
}

// Failure returns the failure of an object; ErrNotFound if there is none.
func (s *Store) Failure(ctx context.Context, pair int64, key sources.Key) (Failure, error) {
	all, err := query(ctx, s.r, "find failure", scanFailure, `SELECT `+failureColumns+` WHERE pair = ? AND key = ?`, pair, key)
	return First(all, err, "failure of "+string(key))
}
