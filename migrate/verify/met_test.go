package verify

import (
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
