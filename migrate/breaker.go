package migrate

import (
	"fmt"
	"time"

	"assetferry/state"
)

// breakAfter failures in a row, all alike, are no trouble of the items.
const breakAfter = 20

// A row is of items that came to the same end, one after the other.
type row struct {
	items  int
	end    string
	trying time.Time // since when one item at a time is tried; zero if that is not so
}

// breaker stops a run in which everything fails in the same way. If it fails for a
// reason that may pass, one item at a time is tried before, as long as the run
// would stay for one.
func (d *dispatcher) breaker(r result) error {
	waits := r.outcome.State == state.ItemWaiting
	switch r.outcome.State {
	case state.ItemFailed, state.ItemWaiting:
	case state.ItemChanged:
		if r.alike == "" { // it changed; that happens
			return nil
		}
	case state.ItemInDoubt:
		return nil // says nothing either way
	default:
		d.row = row{}
		return nil
	}
	if r.alike != d.row.end && (!waits || d.row.trying.IsZero()) {
		d.row = row{end: r.alike}
	}
	if d.row.items++; d.row.items < breakAfter || waits && d.tries(r.outcome.Error) {
		return nil
	}
	return &BreakerError{d.row.items, r.outcome.Error, waits}
}

// tries reports whether the run still tries one item at a time.
func (d *dispatcher) tries(why string) bool {
	now := time.Now()
	if d.row.trying.IsZero() && d.Wait > 0 {
		d.row.trying = now
		d.Watch.Tries(d.row.items, why, now.Add(d.Wait))
	}
	return now.Before(d.row.trying.Add(d.Wait))
}

// A BreakerError stops a run in which one item after the other comes to the same
// end.
type BreakerError struct {
	Items  int
	Last   string // what happened to the last of them
	Passes bool   // it may pass
}

func (e *BreakerError) Error() string {
	return fmt.Sprintf("%d items in a row failed alike, the last with: %s", e.Items, e.Last)
}

// Hint is the next step.
func (e *BreakerError) Hint() string {
	hint := "the trouble is hardly with each of them: see that the source is there and the destination works, then run the same command again"
	if e.Passes {
		hint += "; with --wait it stays longer for trouble to pass"
	}
	return hint
}
