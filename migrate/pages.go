package migrate

import (
	"iter"
)

// Pages makes pages of up to so many of a sequence. Each is there until the next one. An
// error of the sequence comes instead of the page that it cuts short: if that page failed as
// well, the error would be lost.
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

const PageSize = 1000 // items that go into the state database in one transaction
