package migrate

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// What a listing has met as it should be is noted, and what it has met otherwise is for the
// inventory from then on, also if it is met again.
func TestMet(t *testing.T) {
	m := newMet()
	for n, step := range []struct {
		asset      string
		asReceived bool
		enough     bool
	}{{"a", true, true}, {"b", false, false}, {"a", true, true}, {"b", true, false}, {"c", true, true}, {"c", false, false}, {"c", true, false}} {
		if m.add(step.asset, step.asReceived) != step.enough {
			t.Errorf("step %d: whether it is enough to note %s is not %v", n, step.asset, step.enough)
		}
	}
	m.sort()
	for asset, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if m.has(asset) != want {
			t.Errorf("%s: noted %v", asset, !want)
		}
	}
}

// Pages hold all there is, but for the page that an error cuts short.
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
		for page, err := range pages(all, 2) {
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
