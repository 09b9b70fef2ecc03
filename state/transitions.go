package state

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// noItem stands for a missing item: not yet, or no longer.
const noItem ItemState = ""

// An event changes items from one state to another. It has the name of a method of Store; other
// methods with the same effect are named next to it.
type event int

const (
	onStage event = iota
	onAddDrift
	onStageUndo   // FinishStagingUndo
	onDecided     // DecideUndo
	onDecidedMove // Decided deletes the item of the key that a moved object had
	onTake        // Advance
	onTakeDue
	onRelease
	onInterrupted
	onResend
	onRecord      // Advance
	onNextVersion // the same, if an older version of the object is done
	onRelist
	onSupersede // BeginUndo
	onGiveUp    // Supersede, BeginUndo
	onBegin     // BeginUndo, PlanUndo, Supersede
)

var (
	// decidedStates are the states in which a decided item starts. It can be decided again until it
	// is taken.
	decidedStates = []ItemState{ItemPlanned, ItemSkipped, ItemConflict, ItemFailed, ItemRetriesExhausted, ItemChanged}
	plannable     = slices.Concat([]ItemState{ItemStaged}, decidedStates)
)

// transitions are all state changes of items. The methods read their allowed states from here, and
// the schema checks the other columns of each state. Prune alone is not here: it deletes the items
// of runs that ended long ago.
var transitions = [...]struct {
	run      RunState // required state of the run; empty if any, or if the event changes it, too
	from, to []ItemState
	when     string // further condition on the item, as SQL
}{
	onStage:       {Scanning, []ItemState{noItem}, plannable, ""},
	onAddDrift:    {Planning, []ItemState{noItem}, plannable, ""},
	onStageUndo:   {Scanning, []ItemState{noItem}, []ItemState{ItemStaged, ItemPlanned, ItemConflict}, ""},
	onDecided:     {Planning, plannable, decidedStates, "attempts = 0"},
	onDecidedMove: {Planning, plannable, []ItemState{noItem}, "attempts = 0"}, // the item of the former key
	onTake:        {Applying, []ItemState{ItemPlanned}, []ItemState{ItemSending}, ""},
	onTakeDue:     {Applying, []ItemState{ItemRetryScheduled}, []ItemState{ItemSending}, ""}, // from retry_at on
	onRelease:     {"", []ItemState{ItemSending}, []ItemState{ItemPlanned}, ""},
	onInterrupted: {"", []ItemState{ItemSending}, []ItemState{ItemUnconfirmed}, ""},
	onResend:      {"", []ItemState{ItemUnconfirmed}, []ItemState{ItemSending}, ""},
	onRecord: {"", []ItemState{ItemSending, ItemSent, ItemUnconfirmed},
		[]ItemState{ItemSent, ItemDone, ItemRetryScheduled, ItemFailed, ItemChanged, ItemUnconfirmed}, ""},
	onNextVersion: {"", []ItemState{ItemSending, ItemUnconfirmed}, []ItemState{ItemSending, ItemPlanned}, ""},
	onRelist:      {"", slices.Concat(plannable, []ItemState{ItemRetryScheduled}), []ItemState{noItem}, ""}, // unless the outcome of another is unknown
	onSupersede:   {"", []ItemState{ItemStaged, ItemPlanned}, []ItemState{noItem}, unlessUploads},           // the same
	onGiveUp:      {"", []ItemState{ItemRetryScheduled}, []ItemState{ItemFailed}, ""},                       // unless the outcome of another is unknown
	onBegin:       {"", plannable, []ItemState{noItem}, ""},                                                 // if superseded
}

// unlessUploads holds for items that upload or change nothing from the source.
const unlessUploads = "(items.action IS NULL OR items.action = 'trash' OR EXISTS (SELECT 1 FROM runs r WHERE r.num = items.run AND r.undoes IS NOT NULL))"

// conditions are the SQL conditions of the events.
var conditions = func() (all [len(transitions)]string) {
	for e, t := range transitions {
		var states []string
		for _, st := range t.from {
			states = append(states, fmt.Sprintf("items.state = '%s'", st))
		}
		all[e] = "(" + strings.Join(states, " OR ") + ")"
		if t.when != "" {
			all[e] += " AND " + t.when
		}
	}
	return all
}()

func (e event) condition() string { return conditions[e] }

// leadsTo fails with ErrConflict unless an event can change an item to a state.
func (e event) leadsTo(st ItemState) error {
	if !slices.Contains(transitions[e].to, st) {
		return fmt.Errorf("it cannot become %q: %w", st, ErrConflict)
	}
	return nil
}

// isPossible fails with ErrConflict unless a run is in the state that an event needs.
func (e event) isPossible(ctx context.Context, tx *sql.Tx, run int64) error {
	want := transitions[e].run
	there, err := isIn(ctx, tx, run, want)
	if err == nil && !there {
		return fmt.Errorf("the run is not %s: %w", want, ErrConflict)
	}
	return err
}

// isIn reports whether a run is in a state.
func isIn(ctx context.Context, tx *sql.Tx, run int64, st RunState) (there bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE num = ? AND state = ?)`, run, st).Scan(&there)
	return there, err
}
