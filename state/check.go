package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"assetferry/internal/filelock"
	"assetferry/state/actionlog"
	"assetferry/state/disk"
	"assetferry/state/ownership"
	"assetferry/state/pagesums"
)

// shownRows is the number of keys that a check names for each problem.
const shownRows = 5

// invariants are rules beyond the schema that every state database obeys, each as a query for the
// keys that violate it.
var invariants = []struct{ broken, query string }{
	{"is done and has no upload record", `SELECT i.key FROM items i JOIN runs r ON r.num = i.run
		WHERE i.state IN ('done', 'sent') AND i.action <> 'trash' AND (i.action <> 'adopt' OR i.previous_key = '')
		AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.pair = r.pair AND c.key = i.key)
		AND NOT EXISTS (SELECT 1 FROM runs u JOIN items t ON t.run = u.num AND t.key = i.key
			WHERE u.pair = r.pair AND (t.state = 'done' AND (u.undoes IS NOT NULL OR t.action = 'trash')
				OR t.state = 'skipped' AND u.state = 'finished' AND u.undoes IS NOT NULL))
		AND i.key NOT IN (SELECT m.previous_key FROM runs u JOIN items m ON m.run = u.num WHERE u.undoes IS NULL
			AND m.action IN ('move', 'create', 'replace') AND m.previous_key NOT IN ('', m.key) AND m.attempts > 0)
		AND NOT EXISTS (SELECT 1 FROM former_keys k WHERE k.pair = r.pair AND k.key = i.key)
		AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.pair = r.pair AND p.num > r.num AND p.pruned_at IS NOT NULL)`}, // its undo may be among the pruned items
	{"shares an asset and has its own asset", `SELECT a.key FROM aliases a JOIN receipts c ON c.pair = a.pair AND c.key = a.key`},
	{"has an upload record of a run with another source or destination", `SELECT c.key FROM receipts c JOIN runs r ON r.num = c.run WHERE r.pair <> c.pair`},
	{"is in progress in a run that has ended", `SELECT key FROM items JOIN runs r ON r.num = run
		WHERE ` + inFlight + ` AND r.state IN ('finished', 'superseded')`},
	{"is undecided in a run that has a plan", `SELECT i.key FROM items i JOIN runs r ON r.num = i.run
		WHERE i.state = 'staged' AND r.state IN ('planned', 'applying', 'finished')`},
	{"has a wrong count of items", `SELECT DISTINCT 'run ' || r.id FROM (
			SELECT run, action, reason, tallies.state, objects, bytes FROM tallies JOIN runs p ON num = run WHERE p.pruned_at IS NULL
			UNION ALL SELECT run, coalesce(action, ''), reason, items.state, -count(*), -sum(size) FROM runs r JOIN items ON run = r.num
				WHERE r.tallied = 1 AND r.pruned_at IS NULL AND NOT ` + inFlight + ` GROUP BY 1, 2, 3, 4) t JOIN runs r ON r.num = t.run
		GROUP BY t.run, t.action, t.reason, t.state HAVING sum(t.objects) <> 0 OR sum(t.bytes) <> 0`},
	{"has a wrong count of upload records", `SELECT 'the pair of ' || source FROM pairs
		WHERE (objects, bytes) <> (SELECT count(*), coalesce(sum(size), 0) FROM receipts WHERE pair = pairs.id)`},
}

// quickCheckLimit is the size in bytes up to which a state database is checked when it is opened: a
// larger one would take more than a second.
const quickCheckLimit = 256 << 20

// quickCheck checks the state database for damage, unless it is large.
func (s *Store) quickCheck(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil || info.Size() > quickCheckLimit {
		return err
	}
	problems, err := pragmaCheck(ctx, newReader(s.w, s.hook), `PRAGMA quick_check(1)`)
	if err != nil {
		return wrap("check", err)
	}
	if len(problems) > 0 {
		return wrap("check", &disk.Error{Kind: disk.ErrDamaged, Err: errors.New(problems[0])})
	}
	return nil
}

// pragmaCheck runs one of SQLite's own checks, which return "ok" or problems, in rows of one or
// several lines.
func pragmaCheck(ctx context.Context, r reader, pragma string) (problems []string, err error) {
	rows, err := query(ctx, r, "check", func(rows *sql.Rows) (row string, err error) {
		return row, rows.Scan(&row)
	}, pragma)
	for _, row := range rows {
		for line := range strings.Lines(row) {
			if line = strings.TrimSpace(line); line != "ok" && !strings.HasPrefix(line, "***") { // a heading
				problems = append(problems, line)
			}
		}
	}
	return problems, err
}

// checkMark compares the state database with the mark in its lock file, which is never ahead of it.
func (s *Store) checkMark(ctx context.Context) ([]string, error) {
	f, err := os.Open(s.path + disk.LockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was never written, or its next owner will miss it
	} else if err != nil {
		return nil, disk.OpenError(s.path, err)
	}
	defer f.Close()
	m := ownership.NewMark(s.path, f)
	left, err := m.Read() // before the state database, which may be written meanwhile
	if err != nil {
		return nil, disk.OpenError(s.path, err)
	}
	h, err := ownership.Read(ctx, s.r.DB)
	if err != nil && !errors.Is(err, sql.ErrNoRows) { // it had no owner
		return nil, wrap("check", err)
	}
	if why := h.Wrong(left, m); why != "" {
		return []string{why}, nil
	}
	return nil, nil
}

// checkPages compares the pages with their sums, unless an owner is active: it has compared them.
func (s *Store) checkPages() ([]string, error) {
	if _, err := os.Stat(s.path + disk.LockSuffix); err != nil {
		return nil, nil // as in checkMark
	}
	lock, err := filelock.Acquire(s.path + disk.LockSuffix)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, nil
	} else if err != nil {
		return nil, disk.OpenError(s.path, err)
	}
	err = pagesums.Compare(s.path)
	if err := lock.Release(); err != nil {
		return nil, err
	}
	if e, ok := errors.AsType[*disk.Error](err); ok && e.Kind == disk.ErrDamaged {
		return []string{e.Err.Error()}, nil
	}
	return nil, err
}

// Check reads the whole state database and returns its problems, as sentences for people.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	problems, err := pragmaCheck(ctx, s.r, `PRAGMA integrity_check`)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	if problems, err = s.checkMark(ctx); err != nil {
		return nil, err
	}
	if len(problems) == 0 { // or its pages are others, too
		if problems, err = s.checkPages(); err != nil {
			return nil, err
		}
	}
	orphans, err := query(ctx, s.r, "check", func(rows *sql.Rows) (string, error) {
		var table, parent string
		var row, fk sql.NullInt64
		err := rows.Scan(&table, &row, &parent, &fk)
		return fmt.Sprintf("a row of %s refers to a missing row of %s", table, parent), err
	}, `PRAGMA foreign_key_check`)
	if err != nil {
		return nil, err
	}
	problems = append(problems, orphans...)
	logged, err := actionlog.Problems(ctx, s.r.DB)
	if err != nil {
		return nil, wrap("check action log", err)
	}
	problems = append(problems, logged...)
	for _, l := range invariants {
		keys, err := query(ctx, s.r, "check", func(rows *sql.Rows) (key string, err error) {
			return key, rows.Scan(&key)
		}, l.query+` LIMIT ?`, shownRows)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			problems = append(problems, key+" "+l.broken)
		}
	}
	return problems, nil
}
