package apply

import (
	"fmt"
	"time"

	"assetferry/internal/retry"
	"assetferry/state"
)

// breakAfter failures in a row, all alike or for reasons that may pass, are no trouble of
// the items.
const breakAfter = 20

// A failureStreak is of items that came to the same end, one after the other.
type failureStreak struct {
	items  int
	end    string    // the same for all reasons that may pass
	trying time.Time // since when one item at a time is tried; zero if that is not so
}

// breaker stops a run in which everything fails in the same way.
func (d *dispatcher) breaker(r result) error {
	switch r.outcome.State {
	case state.ItemFailed, state.ItemRetryScheduled:
	case state.ItemChanged:
		if r.alike == "" { // it changed; that happens
			return nil
		}
	case state.ItemUnconfirmed:
		return nil // says nothing either way
	default:
		d.streak = failureStreak{}
		return nil
	}
	return d.failed(r.outcome, r.alike)
}

// failed notes that one more item came to an end, and stops the run if that makes too
// many in a row. If they fail for reasons that may pass, one item at a time is tried
// before, as long as the run would stay for one.
func (d *dispatcher) failed(o state.Outcome, alike string) error {
	return d.streak.failed(o, alike, d.keepsProbing)
}

// failed adds an item to the row, or begins another one, and stops the run if the row is
// too long, unless the items fail for reasons that may pass and the run still tries.
func (r *failureStreak) failed(o state.Outcome, alike string, tries func(why string) bool) error {
	passes := o.State != state.ItemChanged && retry.Class(o.Class).Repeatable()
	if passes {
		alike = "may pass" // an outage shows in many ways
	}
	if alike != r.end {
		*r = failureStreak{end: alike}
	}
	if r.items++; r.items < breakAfter || passes && tries(o.Error) {
		return nil
	}
	return &BreakerError{r.items, o.Error, passes}
}

// keepsProbing reports whether the run still tries one item at a time.
func (d *dispatcher) keepsProbing(why string) bool {
	now := time.Now()
	if d.streak.trying.IsZero() && d.Wait > 0 {
		d.streak.trying = now
		d.Watch.Probing(d.streak.items, why, now.Add(d.Wait))
	}
	return now.Before(d.streak.trying.Add(d.Wait))
}

// A BreakerError stops a run in which one item after the other comes to the same
// end.
type BreakerError struct {
	Items  int
	Last   string // what happened to the last of them
	Passes bool   // it may pass
}

func (e *BreakerError) Error() string {
	how := " alike"
	if e.Passes {
		how = ""
	}
	return fmt.Sprintf("%d items in a row failed%s, the last with: %s", e.Items, how, e.Last)
}

// Remedy is the next step, with settings in braces.
func (e *BreakerError) Remedy() string {
	remedy := "check that the source is available and that the destination works, then run the same command again"
	if e.Passes {
		remedy += "; {wait} sets how long a run waits for a failure to pass"
	}
	return remedy
}
