package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"assetferry/state/actionlog"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// Write runs f in one transaction, provided that this process still owns the state database.
func (s *Store) Write(ctx context.Context, op string, f func(ctx context.Context, tx *sql.Tx) error) error {
	if s.w == nil {
		return fmt.Errorf("state database: %s: %w", op, ErrReadOnly)
	}
	return s.hook.around(op, func() error { return s.commit(ctx, op, f) })
}

func (s *Store) commit(ctx context.Context, op string, f func(ctx context.Context, tx *sql.Tx) error) (err error) {
	defer func() { err = interrupted(ctx, op, err) }()
	if err := s.mark.CatchUp(); err != nil {
		return wrap(op, err)
	}
	c, err := s.w.Conn(ctx) // until the end, so that the mark counts in the order of the writes
	if err != nil {
		return wrap(op, err)
	}
	defer c.Close()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return wrap(op, err)
	}
	defer tx.Rollback() // has no effect after a commit
	seq, log, err := ownership.Count(ctx, tx, s.epoch)
	if err != nil {
		return wrap(op, err)
	}
	s.log = log
	if err := f(ctx, tx); err != nil {
		return wrap(op, err)
	}
	if err := tx.Commit(); err != nil {
		return wrap(op, err)
	}
	s.mark.Written(s.id, seq, s.now())
	s.checkpointIfLarge(ctx, c)
	return nil
}

// LogAction adds an entry to the action log, in the transaction of a Write. The caller sets its kind, its
// run and its details. An entry never contains the key of an object.
func (s *Store) LogAction(ctx context.Context, tx *sql.Tx, e actionlog.Entry) error {
	_, err := s.logged(ctx, tx, e, `SELECT 1`)
	return err
}

// Note adds an entry to the action log in a transaction of its own, and returns the new end of the
// log.
func (s *Store) Note(ctx context.Context, e actionlog.Entry) (head actionlog.Head, err error) {
	err = s.Write(ctx, "add to action log", func(ctx context.Context, tx *sql.Tx) error {
		err := s.LogAction(ctx, tx, e)
		head = s.log
		return err
	})
	return head, err
}

// logged carries out a statement and adds an entry to the action log, unless it has no kind. Both
// are one call of SQLite: the log costs a run no statement. The statement has no numbered
// placeholders.
func (s *Store) logged(ctx context.Context, tx *sql.Tx, e actionlog.Entry, stmt string, args ...any) (sql.Result, error) {
	if e.Kind == "" {
		return tx.ExecContext(ctx, stmt, args...)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	e.StateID, e.Time, e.Account, e.Host, e.Actor = s.id, s.now(), ownership.OSAccount(), host, actionlog.ActorOf(ctx)
	record, head, err := s.log.Append(e)
	if err != nil {
		return nil, fmt.Errorf("add to action log: %w", err)
	}
	// The statement comes last, because its result is the result of the call.
	result, err := tx.ExecContext(ctx, actionlog.Insert(len(args))+`; `+stmt, append(args, record.Values(head)...)...)
	if err == nil {
		s.log, s.added = head, true
	}
	return result, err
}

// Logged returns the end of the action log, and whether this process added an entry. It reads nothing.
func (s *Store) Logged() (head actionlog.Head, added bool) { return s.log, s.added }

// ReadLog calls a function for each line of the action log after a number of entries, and returns
// the end of the log.
func (s *Store) ReadLog(ctx context.Context, after int64, each func(line string) error) (head actionlog.Head, err error) {
	const op = "read action log"
	err = s.hook.around(op, func() error {
		return wrap(op, interrupted(ctx, op, actionlog.Read(ctx, s.r.DB, after, func(num int64, r actionlog.Record) error {
			head = actionlog.Head{Entries: num, Checksum: r.Checksum}
			return each(r.Line)
		})))
	})
	return head, err
}

// LogHead returns the end of the action log.
func (s *Store) LogHead(ctx context.Context) (head actionlog.Head, err error) {
	err = s.r.row(ctx, "read end of action log", `SELECT log_entries, log_head FROM owner`).Scan(&head.Entries, &head.Checksum)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil // it had no owner
	}
	return head, err
}

// Now returns the current time of the store.
func (s *Store) Now() time.Time { return s.now() }

// One runs a conditional statement that must change exactly one row.
func One(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	return changesOne(tx.ExecContext(ctx, query, args...))
}

func changesOne(res sql.Result, err error) error { return changes(1, res, err) }

// changes returns ErrConflict unless a statement changed exactly want rows.
func changes(want int64, res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != want {
		return errors.Join(ErrConflict, err)
	}
	return nil
}

// interrupted replaces an error that only results from a cancelled context by its cause: the driver
// returns several errors, and none names the cause.
func interrupted(ctx context.Context, op string, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("state database: %s: %w", op, context.Cause(ctx))
}

func wrap(op string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "state database: ") {
		return err
	}
	return fmt.Errorf("state database: %s: %w", op, disk.Classify(err))
}

// An insertMany is an INSERT of several rows: the text up to VALUES, the placeholders of a row, and
// the text after the rows. The first placeholders may be numbered, and are the same for all rows.
type insertMany struct{ before, marks, after string }

// rowsAtOnce is the number of rows that one statement inserts: single inserts take nearly twice as
// long.
const rowsAtOnce = 50

// An inserter inserts rows in a transaction.
type inserter struct {
	insertMany
	tx       *sql.Tx
	stmt     *sql.Stmt
	prepared int   // number of rows of the statement
	args     []any // of the next statement
}

// begin begins the arguments of a statement with those that all rows have.
func (i *inserter) begin(args ...any) { i.args = append(i.args[:0], args...) }

// insert inserts the rows that args contains.
func (i *inserter) insert(ctx context.Context, rows int) (err error) {
	if i.prepared != rows {
		marks := strings.Repeat(`, (`+i.marks+`)`, rows)[len(`, `):]
		if i.stmt, err = i.tx.PrepareContext(ctx, i.before+marks+i.after); err != nil {
			return err
		}
		i.prepared = rows
	}
	_, err = i.stmt.ExecContext(ctx, i.args...)
	return err
}
