package state

import "iter"

// PageSize bounds how many rows are read at a time: long reads would keep the
// write-ahead log from being folded back.
const PageSize = 2000

// paged makes one sequence out of pages that each begin after the place of the
// last row of the page before.
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

// yieldAll yields rows that were read, and reports whether more are wanted.
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
