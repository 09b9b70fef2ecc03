package state

import (
	"context"
	"database/sql"
	"errors"
	"iter"
)

// spoolPage is how many spooled rows are read at once.
const spoolPage = 500

// spooled yields the rows of a query in their order, as they are when it begins, without
// keeping the journal from being checkpointed until the last one is seen: that may take hours
// where contents are read in between. The rows are copied into a temporary table of a connection,
// where SQLite would have sorted them anyway, and come from there by the page.
func spooled[T any](ctx context.Context, r reader, op string, scan func(*sql.Rows) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := wrap(op, interrupted(ctx, op, spool(ctx, r, op, scan, yield, query, args)))
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, err)
		}
	}
}

// errStopped says that no more rows are wanted.
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
	// Rows of a table that is made like this are numbered in the order of the query.
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
