package migrate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestPages verifies that pages contain all values, except those of a page that an error cuts
// short.
func TestPages(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		n    int
		err  error
		want string
	}{{0, nil, ""}, {3, nil, "[0 1][2]"}, {4, nil, "[0 1][2 3]"}, {3, failed, "[0 1]failed"}, {2, failed, "[0 1]failed"}} {
		all := func(yield func(int, error) bool) {
			for n := range c.n {
				if !yield(n, nil) {
					return
				}
			}
			if c.err != nil {
				yield(0, c.err)
			}
		}
		got := ""
		for page, err := range Pages(all, 2) {
			if err != nil {
				got += err.Error()
				continue
			}
			got += fmt.Sprint(slices.Clone(page))
		}
		if got != c.want {
			t.Errorf("%d and %v: got %s, want %s", c.n, c.err, got, c.want)
		}
	}
}
