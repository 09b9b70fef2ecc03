package migrate

import (
	"iter"
)

// Pages splits a sequence into pages of at most size values. A page is valid until the next one. An
// error of the sequence replaces the page that it interrupts: an error in processing that page
// would hide it.
func Pages[T any](all iter.Seq2[T, error], size int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var page []T
		for v, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if page = append(page, v); len(page) == size {
				if !yield(page, nil) {
					return
				}
				page = page[:0]
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

const PageSize = 1000 // items per transaction of the state database
