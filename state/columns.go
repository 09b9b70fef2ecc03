package state

import (
	"database/sql"
	"strings"
)

// A Column is one column of a table whose rows are values of T. Statements and their arguments are
// made from the same columns, so they always match.
type Column[T any] struct {
	Name string
	// Value returns the value to write.
	Value func(*T) any
	// Into returns the target that the column is read into, by Read; by its name if Read is empty.
	Into func(*T) any
	Read string
}

// Columns are columns of a table in the order of the statements.
type Columns[T any] []Column[T]

// Only selects columns by name. It is for package variables: an unknown name is a programming error
// and panics.
func (c Columns[T]) Only(names ...string) Columns[T] {
	chosen := make(Columns[T], 0, len(names))
	for _, name := range names {
		n := 0
		for c[n].Name != name {
			n++
		}
		chosen = append(chosen, c[n])
	}
	return chosen
}

// Names returns the columns for an INSERT.
func (c Columns[T]) Names() string {
	return c.join(func(c Column[T]) string { return c.Name })
}

// Marks returns the placeholders of a row in the VALUES of an INSERT.
func (c Columns[T]) Marks() string {
	return c.join(func(Column[T]) string { return "?" })
}

// Sets returns the assignments for an UPDATE.
func (c Columns[T]) Sets() string {
	return c.join(func(c Column[T]) string { return c.Name + " = ?" })
}

// Excluded returns the SET list of an UPSERT.
func (c Columns[T]) Excluded() string {
	return c.join(func(c Column[T]) string { return c.Name + " = excluded." + c.Name })
}

// Reads returns the expressions for a SELECT.
func (c Columns[T]) Reads() string {
	return c.join(func(c Column[T]) string {
		if c.Read == "" {
			return c.Name
		}
		return c.Read
	})
}

// From returns the columns of a SELECT from another table: the given expressions by name, or
// otherwise for all others.
func (c Columns[T]) From(elsewhere map[string]string, otherwise string) string {
	return c.join(func(c Column[T]) string {
		if e, there := elsewhere[c.Name]; there {
			return e
		}
		return otherwise
	})
}

func (c Columns[T]) join(part func(Column[T]) string) string {
	parts := make([]string, len(c))
	for n := range c {
		parts[n] = part(c[n])
	}
	return strings.Join(parts, ", ")
}

// Values appends the values of a row.
func (c Columns[T]) Values(args []any, row *T) []any {
	for n := range c {
		args = append(args, c[n].Value(row))
	}
	return args
}

// Targets returns the scan targets of a row, followed by more.
func (c Columns[T]) Targets(row *T, more ...any) []any {
	targets := make([]any, 0, len(c)+len(more))
	for n := range c {
		targets = append(targets, c[n].Into(row))
	}
	return append(targets, more...)
}

// scanner returns a function that scans the rows of one query into one reused row.
func scanner[Row, T any](columns Columns[Row], made func(*Row) T) func(*sql.Rows) (T, error) {
	var row Row
	targets := columns.Targets(&row)
	return func(rows *sql.Rows) (T, error) {
		err := rows.Scan(targets...)
		return made(&row), err
	}
}
