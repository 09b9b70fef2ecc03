package plan

import (
	"iter"

	"assetferry/sources"
)

// A mergeCursor reads rows in key order next to a listing in key order, as the join of two
// sorted lists does.
type mergeCursor[T any] struct {
	key    func(T) sources.Key
	passed func(T) error // told of rows that are not asked for, if it is set

	next func() (T, error, bool)
	stop func()
	row  T
	err  error
	more bool
}

func newMergeCursor[T any](rows iter.Seq2[T, error], key func(T) sources.Key) *mergeCursor[T] {
	c := &mergeCursor[T]{key: key}
	c.next, c.stop = iter.Pull2(rows)
	c.row, c.err, c.more = c.next()
	return c
}

// find gives the row of a key, which must be greater than the one asked for before.
func (c *mergeCursor[T]) find(wanted sources.Key) (found T, known bool, err error) {
	if err := c.pass(func(key sources.Key) bool { return key < wanted }); err != nil || !c.more || c.key(c.row) != wanted {
		return found, false, err
	}
	found = c.row
	c.row, c.err, c.more = c.next()
	return found, true, nil
}

// rest passes all rows that are left.
func (c *mergeCursor[T]) rest() error { return c.pass(func(sources.Key) bool { return true }) }

func (c *mergeCursor[T]) pass(while func(key sources.Key) bool) error {
	for c.more && c.err == nil && while(c.key(c.row)) {
		if c.passed != nil {
			if err := c.passed(c.row); err != nil {
				return err
			}
		}
		c.row, c.err, c.more = c.next()
	}
	return c.err
}
