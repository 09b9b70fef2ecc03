package state

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"assetferry/state/actionlog"
)

// Pruned counts pruned, or prunable, rows.
type Pruned struct {
	Runs          int64 // runs whose items are deleted; their totals stay
	Plans         int64 // superseded plans, which are deleted completely
	Items         int64
	Verifications int64 // but for the last one of each pair
}

// IsEmpty reports whether nothing was or would be deleted.
func (p Pruned) IsEmpty() bool { return p == Pruned{} }

// tooOld selects runs that ended before a time and that nothing depends on: no later plan, no undo,
// no URL. The last finished run of a pair and a command stays, because the next one is compared
// with it.
const tooOld = ` r.state IN ('finished', 'superseded') AND r.finished_at < ?1
	AND NOT EXISTS (SELECT 1 FROM runs u WHERE u.undoes = r.num)
	AND (r.state = 'superseded' OR EXISTS (SELECT 1 FROM runs n
		WHERE n.pair = r.pair AND n.command = r.command AND n.state = 'finished' AND n.num > r.num))`

// emptyPlans selects superseded plans without items. The highest run number stays, because it must
// not be used again.
const emptyPlans = ` r.state = 'superseded' AND NOT ` + hasItems + ` AND r.num < (SELECT max(num) FROM runs)
	AND r.num NOT IN (SELECT run FROM receipts) AND r.num NOT IN (SELECT content_run FROM receipts WHERE content_run IS NOT NULL) AND r.num NOT IN (SELECT run FROM aliases) AND r.num NOT IN (SELECT last_run FROM failures)`

// replacedSince selects stored states of an asset whose object has another asset now: the old URL
// is stored there only.
const replacedSince = ` EXISTS (SELECT 1 FROM receipts c WHERE c.pair = ?2 AND c.key = former.key
	AND c.asset <> json_extract(former.receipt, '$.asset'))`

// notPruned selects runs with rows to prune.
const notPruned = ` (r.pruned_at IS NULL OR EXISTS (SELECT 1 FROM items WHERE run = r.num) OR EXISTS (SELECT 1 FROM attempts WHERE run = r.num))`

// oldVerifications selects the verifications before a time, except the last of each wave and of the
// whole pair, and the last of all its contents, which URLs and reports use.
const oldVerifications = ` FROM verifications WHERE at < ?1
	AND id < (SELECT max(v.id) FROM verifications v WHERE v.pair = verifications.pair AND v.wave = verifications.wave)
	AND id NOT IN (SELECT verification FROM wave_checks)
	AND (level <> '` + everyChecksum + `' OR wave <> '' OR id < (SELECT max(v.id) FROM verifications v WHERE v.pair = verifications.pair AND v.level = '` + everyChecksum + `' AND v.wave = ''))`

// Prunable counts the rows that Prune would delete.
func (s *Store) Prunable(ctx context.Context, before time.Time) (p Pruned, err error) {
	const op = "count prunable rows"
	cutoff := before.UnixMilli()
	err = s.r.row(ctx, op, `SELECT count(*) FILTER (WHERE NOT mere), count(*) FILTER (WHERE mere), coalesce(sum(items), 0)
		FROM (SELECT`+emptyPlans+` AS mere, (SELECT count(*) FROM items WHERE run = r.num) AS items FROM runs r WHERE`+tooOld+` AND`+notPruned+`)`, cutoff).
		Scan(&p.Runs, &p.Plans, &p.Items)
	if err == nil {
		err = s.r.row(ctx, op, `SELECT count(*)`+oldVerifications, cutoff).Scan(&p.Verifications)
	}
	return p, err
}

// Prune deletes the items of runs that ended before a time, with their attempts and previous
// states, superseded plans, and old verifications. Receipts and the totals of runs stay. It deletes
// a few rows at a time, so that it may be interrupted; a run counts as pruned from its first one
// on.
func (s *Store) Prune(ctx context.Context, before time.Time) (p Pruned, err error) {
	if p.Verifications, err = s.pruneVerifications(ctx, before); err != nil {
		return p, err
	}
	for _, ofPlans := range []bool{true, false} { // superseded plans first: they refer to other runs
		runs, err := query(ctx, s.r, "count prunable rows", scanPrunable, `SELECT r.num, r.pair, r.id FROM runs r
			WHERE`+tooOld+` AND`+notPruned+` AND (`+emptyPlans+`) = ?2 ORDER BY r.num`, before.UnixMilli(), ofPlans)
		if err != nil {
			return p, err
		}
		for _, run := range runs {
			n, err := s.pruneRun(ctx, run, ofPlans)
			if p.Items += n; err != nil {
				return p, err
			}
			if ofPlans {
				p.Plans++
			} else {
				p.Runs++
			}
		}
	}
	return p, nil
}

// A prunable is a run that may be pruned.
type prunable struct {
	num, pair int64
	id        string
}

func scanPrunable(rows *sql.Rows) (p prunable, err error) {
	return p, rows.Scan(&p.num, &p.pair, &p.id)
}

func (s *Store) pruneVerifications(ctx context.Context, before time.Time) (n int64, err error) {
	err = s.Write(ctx, "prune verifications", func(ctx context.Context, tx *sql.Tx) error {
		cutoff := before.UnixMilli()
		if _, err := tx.ExecContext(ctx, `DELETE FROM differences WHERE verification IN (SELECT id`+oldVerifications+`)`, cutoff); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `DELETE`+oldVerifications, cutoff)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return n, err
}

// prunedAtOnce is the number of rows that one transaction deletes from a table.
const prunedAtOnce = 2000

// pruneRun deletes the rows of a run, and the run itself if it was only a plan. It returns the
// number of its items.
func (s *Store) pruneRun(ctx context.Context, run prunable, isPlan bool) (items int64, err error) {
	err = s.Write(ctx, "prune run", func(ctx context.Context, tx *sql.Tx) error {
		var pruned actionlog.Entry
		if !isPlan {
			pruned = actionlog.Entry{Kind: actionlog.RunPruned, Run: run.id}
		}
		return changesOne(s.logged(ctx, tx, pruned, `UPDATE runs SET pruned_at = coalesce(pruned_at, ?) WHERE num = ? AND state IN ('finished', 'superseded')`,
			s.now().UnixMilli(), run.num))
	})
	if err != nil {
		return 0, err
	}
	for _, of := range []struct{ table, unless string }{
		{"former", replacedSince}, {"contents", "FALSE"}, {"attempts", "FALSE"}, {"items", "FALSE"}, // the items last: see left
	} {
		if items, err = s.pruneTable(ctx, run, of.table, of.unless); err != nil {
			return items, err
		}
	}
	return items, s.Write(ctx, "prune run", func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sidecars WHERE pair = ? AND pending = ? AND pending <> 0`, run.pair, missedBy(run.num)); err != nil {
			return err
		}
		tables := []string{`DELETE FROM throughput WHERE run = ?`, `DELETE FROM versions WHERE run = ?`, `DELETE FROM histories WHERE run = ?`}
		if isPlan {
			tables = append(tables, `DELETE FROM former WHERE run = ?`, `DELETE FROM tallies WHERE run = ?`, `DELETE FROM runs WHERE num = ?`)
		}
		for _, stmt := range tables {
			if _, err := tx.ExecContext(ctx, stmt, run.num); err != nil {
				return err
			}
		}
		return nil
	})
}

// pruneTable deletes the rows of a run in a table, except some.
func (s *Store) pruneTable(ctx context.Context, run prunable, table, unless string) (n int64, err error) {
	for {
		var deleted int64
		err = s.Write(ctx, "prune "+table, func(ctx context.Context, tx *sql.Tx) error {
			res, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM %[1]s WHERE run = ?1 AND ?2 = ?2 AND key IN
				(SELECT key FROM %[1]s WHERE run = ?1 AND NOT (%[2]s) LIMIT ?3)`, table, unless), run.num, run.pair, prunedAtOnce)
			if err != nil {
				return err
			}
			deleted, err = res.RowsAffected()
			return err
		})
		if n += deleted; err != nil || deleted == 0 {
			return n, err
		}
	}
}

func isPruned(ctx context.Context, tx *sql.Tx, run int64) (pruned bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE num = ? AND pruned_at IS NOT NULL)`, run).Scan(&pruned)
	return pruned, err
}

// Unused returns the number of unused bytes in the file of the state database. SQLite uses them
// again, and Compact returns them to the file system.
func (s *Store) Unused(ctx context.Context) (n int64, err error) {
	err = s.r.row(ctx, "measure", `SELECT f.freelist_count * p.page_size FROM pragma_freelist_count f, pragma_page_size p`).Scan(&n)
	return n, err
}
