package plan

import (
	"assetferry/internal/repeat"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// An overview sums up the items of a plan while they are staged, so that the plan need not read them
// again: reading a million rows takes as long as storing them. It is used only while it is whole.
type overview struct {
	whole     bool // it has all items of the run, as they are in the state database
	last      sources.Key
	hash      *migrate.PlanHash
	sums      migrate.ItemSums
	places    *repeat.Filter
	collision bool              // two items may have the same place
	observe   func(*state.Item) // see Planner.Staged; may be nil
}

// begin begins with a run without items.
func (v *overview) begin(staged func() func(*state.Item)) {
	*v = overview{whole: true, hash: migrate.NewPlanHash(), sums: migrate.ItemSums{}, places: repeat.NewFilter()}
	if staged != nil {
		v.observe = staged()
	}
}

// add adds an item as it is staged. An item that is still to be decided, or out of order, ends the
// overview.
func (v *overview) add(i *state.Item) {
	if v.whole = v.whole && i.State != "" && (i.Key > v.last || v.last == ""); !v.whole {
		return
	}
	v.last = i.Key
	v.hash.Add(i)
	v.sums.Add(i)
	if hasPlace(i) && v.places.AddNumber(i.Slot) {
		v.collision = true
	}
	if v.observe != nil {
		v.observe(i)
	}
}

// hasPlace reports whether an item may collide with another one; see state.Store.Collisions.
func hasPlace(i *state.Item) bool {
	switch i.Action {
	case state.Create, state.Adopt, state.Move, state.Replace:
		return true
	}
	return false
}

// changed ends the overview: a pass changes items.
func (v *overview) changed() { v.whole = false }
