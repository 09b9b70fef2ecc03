package migrate

import (
	"errors"
	"iter"
	"slices"
	"testing"
)

// failsAfter yields the numbers below n and then an error.
func failsAfter(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for v := range n {
			if !yield(v, nil) {
				return
			}
		}
		yield(0, err)
	}
}

// TestPagesGiveTheErrorOfTheirSequence verifies that a page which an error cuts short is not
// yielded. A caller may fail while it handles that page, and would then hide the error of the
// sequence.
func TestPagesGiveTheErrorOfTheirSequence(t *testing.T) {
	store := errors.New("the disk is full")
	for n := range 5 {
		var got []int
		var last error
		for page, err := range Pages(failsAfter(n, store), 2) {
			if last = err; err != nil {
				break
			}
			if got = append(got, page...); len(page) < 2 {
				last = errors.New("the service is down")
				break
			}
		}
		if want := []int{0, 1, 2, 3}[:n/2*2]; !errors.Is(last, store) || !slices.Equal(got, want) {
			t.Errorf("after %d: got %v, %v, want %v and the error of the sequence", n, got, last, want)
		}
	}
}
