package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"assetferry/sources"
)

// The exported functions here, [Store.Write] with [One], and [Columns] are for the packages below
// this one, which have tables of their own in the same file. No others can use it:
// internal/test/layers leaves SQL to these.

// Query collects the rows of a statement that reads; it is for results of bounded size. Errors name
// what, the purpose of the query.
func Query[T any](ctx context.Context, s *Store, what string, scan func(*sql.Rows) (T, error), stmt string, args ...any) ([]T, error) {
	return query(ctx, s.r, what, scan, stmt, args...)
}

// First returns the first of the found values; ErrNotFound if there is none.
func First[T any](all []T, err error, what string) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	if len(all) == 0 {
		return zero, fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return all[0], nil
}

// query collects the rows of a statement; it is for results of bounded size.
func query[T any](ctx context.Context, r reader, op string, scan func(*sql.Rows) (T, error), stmt string, args ...any) ([]T, error) {
	return queryInto(ctx, nil, r, op, scan, stmt, args...)
}

// queryInto is query, reusing the rows of a former page.
func queryInto[T any](ctx context.Context, former []T, r reader, op string, scan func(*sql.Rows) (T, error), stmt string, args ...any) (all []T, err error) {
	err = r.hook.around(op, func() (err error) {
		defer func() { err = wrap(op, interrupted(ctx, op, err)) }()
		rows, err := r.QueryContext(ctx, stmt, args...)
		if err != nil {
			return err
		}
		all, err = appendAll(former[:0], rows, scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// scanAll collects rows and closes them.
func scanAll[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	return appendAll(nil, rows, scan)
}

func appendAll[T any](all []T, rows *sql.Rows, scan func(*sql.Rows) (T, error)) (_ []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

func scanText(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }

func scanKey(rows *sql.Rows) (k sources.Key, err error) { return k, rows.Scan((*string)(&k)) }

// List returns a list in SQL with n parameters.
func List(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")" }

// listed returns the arguments of a statement that ends with a list.
func listed[T ~string](values []T, before ...any) []any {
	for _, v := range values {
		before = append(before, string(v))
	}
	return before
}

// PageSize is the number of rows that are read at a time: long reads would block checkpoints of the
// write-ahead log.
const PageSize = 2000

// paged joins pages into one sequence; each page begins after the last row of the previous one.
func paged[T, C any](r reader, after C, at func(T) C, page func(after C) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			rows, err := page(after)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			if !yieldAll(r.hook, rows, yield) {
				return
			}
			if len(rows) < PageSize {
				return
			}
			after = at(rows[len(rows)-1])
		}
	}
}

// yieldAll yields rows, and reports whether the caller wants more.
func yieldAll[T any](h *hook, rows []T, yield func(T, error) bool) bool {
	for _, row := range rows {
		wanted := true
		err := h.ask(nextRow, false)
		if err == nil {
			if wanted = yield(row, nil); wanted {
				err = h.ask(nextRow, true)
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
		if err != nil || !wanted {
			return false
		}
	}
	return true
}

// Paged joins pages of PageSize rows into one sequence; each page begins after the last row of the
// previous one.
func Paged[T, C any](s *Store, after C, at func(T) C, page func(after C) ([]T, error)) iter.Seq2[T, error] {
	return paged(s.r, after, at, page)
}

// spoolPage is how many spooled rows are read at once.
const spoolPage = 500

// spooled yields the rows of a query as a snapshot, without blocking checkpoints until the last
// row: callers may take hours to read contents in between. The rows are copied into a temporary
// table, where SQLite would have sorted them anyway, and are read from it by the page.
func spooled[T any](ctx context.Context, r reader, op string, scan func(*sql.Rows) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := wrap(op, interrupted(ctx, op, spool(ctx, r, op, scan, yield, query, args)))
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, err)
		}
	}
}

// errStopped means that the caller wants no more rows.
var errStopped = errors.New("no more rows are wanted")

func spool[T any](ctx context.Context, r reader, op string, scan func(*sql.Rows) (T, error), yield func(T, error) bool, query string, args []any) (err error) {
	conn, err := r.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer func() {
		_, dropped := conn.ExecContext(context.WithoutCancel(ctx), `DROP TABLE IF EXISTS temp.spool`)
		err = errors.Join(err, dropped)
	}()
	// The rows of such a table are numbered in the order of the query.
	err = r.hook.around(op, func() error {
		_, err := conn.ExecContext(ctx, `CREATE TEMP TABLE spool AS `+query, args...)
		return err
	})
	if err != nil {
		return err
	}
	for last := 0; ; last += spoolPage {
		page, err := spoolPageOf(ctx, conn, scan, last)
		if err != nil {
			return err
		}
		if !yieldAll(r.hook, page, yield) {
			return errStopped
		}
		if len(page) < spoolPage {
			return nil
		}
	}
}

func spoolPageOf[T any](ctx context.Context, conn *sql.Conn, scan func(*sql.Rows) (T, error), last int) (page []T, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT * FROM temp.spool WHERE rowid > ? AND rowid <= ? ORDER BY rowid`, last, last+spoolPage)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, row)
	}
	return page, rows.Err()
}
