package state

import "iter"

// merged makes one sequence of several that are in the same order. The first one may be
// long: it is read as it comes, because to pull from it would cost more than to read it.
func merged[T any](compare func(T, T) int, long iter.Seq2[T, error], short ...iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		m := merger[T]{compare: compare, yield: yield}
		for _, rows := range short {
			next, stop := iter.Pull2(rows)
			defer stop()
			if !m.advance(next) {
				return
			}
		}
		for row, err := range long {
			if err != nil {
				yield(row, err)
				return
			}
			if !m.before(&row) || !yield(row, nil) {
				return
			}
		}
		m.before(nil)
	}
}

// A merger has the first rows of the short sequences that are not at their end.
type merger[T any] struct {
	compare func(T, T) int
	yield   func(T, error) bool
	heads   []head[T]
}

type head[T any] struct {
	row  T
	next func() (T, error, bool)
}

// advance reads the next row of a sequence, and reports whether to go on.
func (m *merger[T]) advance(next func() (T, error, bool)) bool {
	row, err, more := next()
	if err != nil {
		m.yield(row, err)
		return false
	}
	if more {
		m.heads = append(m.heads, head[T]{row, next})
	}
	return true
}

// before yields all rows that come before one of the long sequence, or all if there is none
// any more, and reports whether to go on.
func (m *merger[T]) before(row *T) bool {
	for {
		first := -1
		for n, h := range m.heads {
			if (row == nil || m.compare(h.row, *row) < 0) && (first < 0 || m.compare(h.row, m.heads[first].row) < 0) {
				first = n
			}
		}
		if first < 0 {
			return true
		}
		h := m.heads[first]
		m.heads = append(m.heads[:first], m.heads[first+1:]...)
		if !m.yield(h.row, nil) || !m.advance(h.next) {
			return false
		}
	}
}
