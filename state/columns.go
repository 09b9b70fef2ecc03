package state

import (
	"database/sql"
	"strings"
)

// A Column is one column of a table whose rows a T stands for. Statements and their arguments are made
// from the same columns, so that they cannot drift apart.
type Column[T any] struct {
	Name string
	// Value is what is written.
	Value func(*T) any
	// Into is what the column is read into, by Read; by its name where Read is empty.
	Into func(*T) any
	Read string
}

// Columns are those of a table, or some of them, in the order in which statements name them.
type Columns[T any] []Column[T]

// Only chooses columns by name. It is for tables that a program begins with: a name that is not there
// is a mistake in it, and panics.
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

// Names is how an INSERT names the columns.
func (c Columns[T]) Names() string {
	return c.join(func(c Column[T]) string { return c.Name })
}

// Marks is the place of a row in the VALUES of an INSERT, without what stands around it.
func (c Columns[T]) Marks() string {
	return c.join(func(Column[T]) string { return "?" })
}

// Sets is how an UPDATE sets the columns.
func (c Columns[T]) Sets() string {
	return c.join(func(c Column[T]) string { return c.Name + " = ?" })
}

// Excluded is how an UPSERT sets the columns to what it could not insert.
func (c Columns[T]) Excluded() string {
	return c.join(func(c Column[T]) string { return c.Name + " = excluded." + c.Name })
}

// Reads is how a SELECT names the columns.
func (c Columns[T]) Reads() string {
	return c.join(func(c Column[T]) string {
		if c.Read == "" {
			return c.Name
		}
		return c.Read
	})
}

// From is how a SELECT from elsewhere names what stands for the columns: by their names, or else a
// text that holds for all that are not there.
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

// Values appends what is written of a row.
func (c Columns[T]) Values(args []any, row *T) []any {
	for n := range c {
		args = append(args, c[n].Value(row))
	}
	return args
}

// Targets is what a row is scanned into, followed by what more there is.
func (c Columns[T]) Targets(row *T, more ...any) []any {
	targets := make([]any, 0, len(c)+len(more))
	for n := range c {
		targets = append(targets, c[n].Into(row))
	}
	return append(targets, more...)
}

// scanner gives what scans the rows of one query, into one row that is used again for each of them.
func scanner[Row, T any](columns Columns[Row], made func(*Row) T) func(*sql.Rows) (T, error) {
	var row Row
	targets := columns.Targets(&row)
	return func(rows *sql.Rows) (T, error) {
		err := rows.Scan(targets...)
		return made(&row), err
	}
}
