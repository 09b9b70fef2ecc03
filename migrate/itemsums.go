package migrate

import "assetferry/state"

// ItemSums counts items by action, reason and state, with their bytes.
type ItemSums map[state.Tally]state.ReceiptSum

// Add adds an item.
func (s ItemSums) Add(i *state.Item) {
	of := state.Tally{Action: i.Action, Reason: i.Reason, State: i.State}
	sum := s[of]
	s[of] = state.ReceiptSum{Objects: sum.Objects + 1, Bytes: sum.Bytes + i.Size}
}

// Has reports whether an item is in a state.
func (s ItemSums) Has(st state.ItemState) bool {
	for of := range s {
		if of.State == st {
			return true
		}
	}
	return false
}

// Tallies returns the sums in no particular order.
func (s ItemSums) Tallies() (all []state.Tally) {
	for of, sum := range s {
		of.Objects, of.Bytes = sum.Objects, sum.Bytes
		all = append(all, of)
	}
	return all
}
