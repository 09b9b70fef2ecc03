package state

import "iter"

// pageSize bounds how many rows are read at a time: long reads would keep the
// write-ahead log from being folded back.
const pageSize = 2000

// paged makes one sequence out of pages that each begin after the last key of
// the page before.
func paged[T any, K ~string](after K, key func(T) K, page func(after K) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			rows, err := page(after)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < pageSize {
				return
			}
			after = key(rows[len(rows)-1])
		}
	}
}
