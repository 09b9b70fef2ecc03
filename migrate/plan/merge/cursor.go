// Package merge reads rows in key order next to a listing in key order, as the join of two sorted
// lists does.
package merge

import (
	"iter"

	"assetferry/sources"
)

// A Cursor reads rows in key order. It is at the first row that was neither found nor skipped.
type Cursor[T any] struct {
	// Passed, if set, is called for each row that is skipped.
	Passed func(T) error

	key  func(T) sources.Key
	next func() (T, error, bool)
	stop func()
	row  T
	err  error
	more bool
}

// New returns a cursor over rows in key order. Call its Stop method at the end.
func New[T any](rows iter.Seq2[T, error], key func(T) sources.Key) *Cursor[T] {
	c := &Cursor[T]{key: key}
	c.next, c.stop = iter.Pull2(rows)
	c.row, c.err, c.more = c.next()
	return c
}

// Find returns the row of a key, which must be greater than the previous one. It returns errors of
// the rows and of Passed.
func (c *Cursor[T]) Find(wanted sources.Key) (found T, known bool, err error) {
	if err := c.pass(func(key sources.Key) bool { return key < wanted }); err != nil || !c.more || c.key(c.row) != wanted {
		return found, false, err
	}
	found = c.row
	c.row, c.err, c.more = c.next()
	return found, true, nil
}

// Rest skips all remaining rows.
func (c *Cursor[T]) Rest() error { return c.pass(func(sources.Key) bool { return true }) }

// Err returns the error of the rows that were read so far. One row is read ahead.
func (c *Cursor[T]) Err() error { return c.err }

// Stop ends the reading of rows.
func (c *Cursor[T]) Stop() { c.stop() }

func (c *Cursor[T]) pass(while func(key sources.Key) bool) error {
	for c.more && c.err == nil && while(c.key(c.row)) {
		if c.Passed != nil {
			if err := c.Passed(c.row); err != nil {
				return err
			}
		}
		c.row, c.err, c.more = c.next()
	}
	return c.err
}
