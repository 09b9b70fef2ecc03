package migrate

import (
	"fmt"

	"assetferry/state"
)

// breakAfter failures in a row, all alike, stop a run.
const breakAfter = 20

// breaker stops a run in which everything fails in the same way: the trouble is
// then not with the items.
func (d *dispatcher) breaker(r result) error {
	switch r.outcome.State {
	case state.ItemFailed, state.ItemWaiting:
	case state.ItemChanged:
		if r.alike == "" { // it changed; that happens
			return nil
		}
	case state.ItemInDoubt:
		return nil // says nothing either way
	default:
		d.alike = 0
		return nil
	}
	if r.alike != d.last {
		d.alike, d.last = 0, r.alike
	}
	d.alike++
	if d.alike < breakAfter {
		return nil
	}
	return &BreakerError{d.alike, r.outcome.Error}
}

// A BreakerError stops a run in which one item after the other comes to the same
// end.
type BreakerError struct {
	Items int
	Last  string // what happened to the last of them
}

func (e *BreakerError) Error() string {
	return fmt.Sprintf("%d items in a row failed alike, the last with: %s", e.Items, e.Last)
}

// Hint is the next step.
func (e *BreakerError) Hint() string {
	return "the trouble is hardly with each of them: see that the source is there and the destination works, then run the same command again"
}
