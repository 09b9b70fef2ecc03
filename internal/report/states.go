package report

import (
	"slices"
	"strings"

	"assetferry/state"
)

// The states of objects in reports: those of items, except that a finished action is named by
// its result.
const (
	created          = "created"
	adopted          = "adopted"
	replaced         = "replaced"
	metadataUpdated  = "metadata_updated"
	moved            = "moved"
	trashed          = "trashed"
	unchanged        = "unchanged"
	skipped          = string(state.ItemSkipped)
	failed           = string(state.ItemFailed)
	retriesExhausted = string(state.ItemRetriesExhausted)
	changed          = string(state.ItemChanged)
	conflict         = string(state.ItemConflict)
	retryScheduled   = string(state.ItemRetryScheduled)
	unconfirmed      = string(state.ItemUnconfirmed)
	planned          = string(state.ItemPlanned)
	sending          = string(state.ItemSending)
	sent             = string(state.ItemSent)
	undecided        = "undecided" // only listed so far

	undone  = "undone"  // created, and the run was undone: in addition to created
	warning = "warning" // done with a warning: in addition to the state
)

// order is the order of states in reports: results, problems, skipped, pending.
var order = []string{created, adopted, replaced, metadataUpdated, moved, trashed, unchanged,
	failed, retriesExhausted, changed, conflict, unconfirmed, retryScheduled, skipped,
	planned, sending, sent, undecided}

// doneStates are the states of finished items, by action.
var doneStates = map[state.Action]string{
	state.Create: created, state.Adopt: adopted, state.Replace: replaced, state.UpdateMetadata: metadataUpdated,
	state.Move: moved, state.Trash: trashed,
}

// StateOf returns the state of an item in reports.
func StateOf(a state.Action, s state.ItemState) string {
	switch {
	case s == state.ItemDone:
		return doneStates[a]
	case s == state.ItemSkipped && a == state.Unchanged:
		return unchanged
	case s == state.ItemStaged:
		return undecided
	}
	return string(s)
}

// words returns a state as it is written in sentences.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

// itemStates returns the states of items behind some states of reports; none for none.
func itemStates(codes []string) []state.ItemState {
	var states []state.ItemState
	for _, code := range codes {
		of := state.ItemState(code)
		switch {
		case isDone(code), code == undone:
			of = state.ItemDone
		case code == unchanged:
			of = state.ItemSkipped
		case code == undecided:
			of = state.ItemStaged
		}
		if !slices.Contains(states, of) {
			states = append(states, of)
		}
	}
	return states
}

// isGood reports whether a state is the intended one.
func isGood(code string) bool {
	return isDone(code) || code == unchanged || code == skipped
}

// isDone reports whether an action was carried out.
func isDone(code string) bool { return slices.Index(order, code) <= slices.Index(order, trashed) }

// isAlteration reports whether an asset that existed before was changed. Updated metadata does
// not count: it is usually the last step of creating an asset.
func isAlteration(code string) bool { return code == replaced || code == moved || code == trashed }

// problemStates are the states of objects that need attention.
var problemStates = []string{failed, retriesExhausted, changed, conflict, unconfirmed, retryScheduled}

// isProblem reports whether an object needs attention.
func isProblem(code string) bool { return slices.Contains(problemStates, code) }

// parts are amounts by state.
type parts map[string]Amount

func newParts() parts { return parts{} }

func (p parts) add(code string, a Amount) { p[code] = p[code].plus(a) }

func (p parts) total() (sum Amount) {
	for _, a := range p {
		sum = sum.plus(a)
	}
	return sum
}

// list returns the parts that are not empty, in the order of states.
func (p parts) list() []Part {
	all := []Part{}
	for _, code := range order {
		if a := p[code]; a.Objects > 0 {
			all = append(all, Part{State: code, Good: isGood(code), Amount: a})
		}
	}
	return all
}
