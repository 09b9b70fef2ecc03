package apply

import (
	"errors"
	"fmt"
	"time"

	"assetferry/internal/retry"
	"assetferry/state"
)

// breakAfter is the number of failures in a row, with the same error or for reasons that may pass,
// that do not come from single items.
const breakAfter = 20

// A failureStreak counts items in a row that failed in the same way.
type failureStreak struct {
	items  int
	end    string    // the same for all reasons that may pass
	trying time.Time // since when one item at a time is tried; zero if it is not
}

// breaker stops a run in which everything fails in the same way.
func (d *dispatcher) breaker(r result) error {
	if r.outcome.Class == state.ClassRefused {
		return nil // the scanner works
	}
	switch r.outcome.State {
	case state.ItemFailed, state.ItemRetryScheduled:
	case state.ItemChanged:
		if r.alike == "" { // it changed; that happens
			return nil
		}
	case state.ItemUnconfirmed:
		return nil // neither a success nor a failure
	default:
		d.streak = failureStreak{}
		return nil
	}
	err := d.failed(r.outcome, r.alike)
	if e, ok := errors.AsType[*BreakerError](err); ok {
		e.Scan = r.scan
	}
	return err
}

// failed counts a failed item, and stops the run after too many in a row. If they may pass, one
// item at a time is tried first, for the time that the run would wait for one.
func (d *dispatcher) failed(o state.Outcome, alike string) error {
	return d.streak.failed(o, alike, d.keepsProbing)
}

// failed adds an item to the streak, or begins another one. It stops the run if the streak is too
// long, unless the failures may pass and the run still probes.
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
	return &BreakerError{Items: r.items, Last: o.Error, Passes: passes}
}

// keepsProbing reports whether the run still tries single items.
func (d *dispatcher) keepsProbing(why string) bool {
	now := time.Now()
	if d.streak.trying.IsZero() && d.Wait > 0 {
		d.streak.trying = now
		d.Watch.Probing(d.streak.items, why, now.Add(d.Wait))
	}
	return now.Before(d.streak.trying.Add(d.Wait))
}

// A BreakerError stops a run whose items fail in a row.
type BreakerError struct {
	Items  int
	Last   string // error of the last of them
	Passes bool   // it may pass
	Scan   bool   // the last one failed because the scanner has no answer
}

func (e *BreakerError) Error() string {
	how := " alike"
	if e.Passes {
		how = ""
	}
	return fmt.Sprintf("%d items in a row failed%s, the last with: %s", e.Items, how, e.Last)
}

// Remedy returns the next step, with settings in braces.
func (e *BreakerError) Remedy() string {
	remedy := "check that the source is available and that the destination works, then run the same command again"
	if e.Scan {
		remedy = "check the scanner with assetferry doctor, then run the same command again"
	}
	if e.Passes {
		remedy += "; {wait} sets how long a run waits for a failure to pass"
	}
	return remedy
}
