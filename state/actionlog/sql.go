package actionlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Insert returns the statement that stores a record, with numbered placeholders after a number of
// others. It can be carried out together with a statement that has those.
func Insert(after int) string {
	return fmt.Sprintf(`INSERT INTO action_log (num, entry, checksum) VALUES (?%d, ?%d, ?%d)`, after+1, after+2, after+3)
}

// Values returns the values of Insert.
func (r Record) Values(h Head) []any { return []any{h.Entries, r.Line, r.Checksum} }

// A Querier is a database, or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// pageSize is the number of entries that are read at a time.
const pageSize = 1000

// Read calls a function for each stored entry after a number, in their order.
func Read(ctx context.Context, db Querier, after int64, each func(num int64, r Record) error) error {
	for {
		page, err := readPage(ctx, db, after)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := each(r.num, r.Record); err != nil {
				return err
			}
			after = r.num
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

type row struct {
	num int64
	Record
}

func readPage(ctx context.Context, db Querier, after int64) (page []row, err error) {
	rows, err := db.QueryContext(ctx, `SELECT num, entry, checksum FROM action_log WHERE num > ? ORDER BY num LIMIT ?`, after, pageSize)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.num, &r.Line, &r.Checksum); err != nil {
			return nil, err
		}
		page = append(page, r)
	}
	return page, rows.Err()
}

// triggers keep statements from changing stored entries.
var triggers = []string{"action_log_adds", "action_log_follows", "action_log_keeps", "action_log_stays"}

// Problems verifies the stored log, and describes what is wrong with it.
func Problems(ctx context.Context, db Querier) (problems []string, err error) {
	var id string
	var head Head
	err = db.QueryRowContext(ctx, `SELECT state_id, log_entries, log_head FROM owner`).Scan(&id, &head.Entries, &head.Checksum)
	if err != nil && !errors.Is(err, sql.ErrNoRows) { // it had no owner
		return nil, err
	}
	var c Chain
	err = Read(ctx, db, 0, func(num int64, r Record) error {
		begins := c.Head() == Head{}
		e, err := c.Add(r.Line)
		switch {
		case err != nil:
			return err
		case begins && num != 1:
			return fmt.Errorf("%w: it begins with entry %d", ErrChanged, num)
		case e.Number != num, r.Checksum != c.Head().Checksum, e.StateID != id:
			return fmt.Errorf("%w: entry %d was changed", ErrChanged, num)
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrChanged):
		problems = append(problems, err.Error())
	case err != nil:
		return nil, err
	case c.Head() != head:
		problems = append(problems, fmt.Sprintf("%v: it has %d entries instead of %d, or another last entry", ErrChanged, c.Head().Entries, head.Entries))
	}
	return append(problems, missingTriggers(ctx, db)...), nil
}

// missingTriggers names the triggers that the schema lacks.
func missingTriggers(ctx context.Context, db Querier) (problems []string) {
	for _, name := range triggers {
		var n int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'action_log' AND name = ?`, name).Scan(&n)
		if err != nil || n != 1 {
			problems = append(problems, "the action log is not protected: its trigger "+name+" is missing")
		}
	}
	return problems
}
