package report

import (
	"slices"
	"strings"

	"assetferry/state"
)

// What becomes of objects, as people are told: the states of items, where what is done
// has the name of what was done.
const (
	created     = "created"
	adopted     = "adopted"
	replaced    = "replaced"
	described   = "described"
	moved       = "moved"
	trashed     = "trashed"
	unchanged   = "unchanged"
	skipped     = "skipped"
	failed      = "failed"
	parked      = "parked"
	changed     = "changed"
	conflict    = "conflict"
	waiting     = "waiting"
	unconfirmed = "in doubt"
	planned     = "planned"
	sending     = "sending"
	sent        = "sent"
	undecided   = "undecided" // listed so far

	undone   = "undone"   // created, and taken back since; said besides of what was created
	remarked = "remarked" // done, but there is something to say; said besides of what was done
)

// order is the one in which people are told of parts, what arrived first.
var order = []string{created, adopted, replaced, described, moved, trashed, unchanged, skipped,
	failed, parked, changed, conflict, waiting, unconfirmed, planned, sending, sent, undecided}

// doneWords are what was done, by action.
var doneWords = map[state.Action]string{
	state.Create: created, state.Adopt: adopted, state.Replace: replaced, state.UpdateMetadata: described,
	state.Move: moved, state.Trash: trashed,
}

// Told is what people are told of an item: one word, or two.
func Told(a state.Action, s state.ItemState) string {
	switch {
	case s == state.ItemDone:
		return doneWords[a]
	case s == state.ItemSkipped && a == state.Unchanged:
		return unchanged
	case s == state.ItemStaged:
		return undecided
	}
	return strings.ReplaceAll(string(s), "_", " ")
}

// statesOf are the states of items that people are told of by some of the words; none for
// no words.
func statesOf(told []string) []state.ItemState {
	var states []state.ItemState
	for _, word := range told {
		of := state.ItemState(strings.ReplaceAll(word, " ", "_"))
		switch {
		case isDone(word), word == undone:
			of = state.ItemDone
		case word == unchanged:
			of = state.ItemSkipped
		case word == undecided:
			of = state.ItemStaged
		}
		if !slices.Contains(states, of) {
			states = append(states, of)
		}
	}
	return states
}

// isGood reports whether what became of an object is what was meant.
func isGood(told string) bool { return slices.Index(order, told) <= slices.Index(order, skipped) }

// isDone reports whether something was carried out.
func isDone(told string) bool { return slices.Index(order, told) <= slices.Index(order, trashed) }

// isAlteration reports whether something was done to an asset that was there before. What
// was described is none in general: most often that is the end of creating it.
func isAlteration(told string) bool { return told == replaced || told == moved || told == trashed }

// isTrouble reports whether a person may have to do something about it.
func isTrouble(told string) bool {
	switch told {
	case failed, parked, changed, conflict, waiting, unconfirmed:
		return true
	}
	return false
}

// parts are sums by what became of objects.
type parts map[string]Amount

func newParts() parts { return parts{} }

func (p parts) add(told string, a Amount) { p[told] = p[told].plus(a) }

func (p parts) total() (sum Amount) {
	for _, a := range p {
		sum = sum.plus(a)
	}
	return sum
}

// list gives the parts that are not empty in the order people are told of them.
func (p parts) list() []Part {
	all := []Part{}
	for _, name := range order {
		if a := p[name]; a.Objects > 0 {
			all = append(all, Part{Name: name, Good: isGood(name), Amount: a})
		}
	}
	return all
}
