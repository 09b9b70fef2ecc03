package verify

import (
	"testing"
)

// TestMet verifies that an asset which a listing shows as expected is recorded as met, and that one
// which it shows otherwise is left to the inventory, even if a later page shows it again.
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
