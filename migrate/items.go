package migrate

import (
	"cmp"

	"assetferry/sources"
	"assetferry/state"
)

// SetDecision puts a decision into an item.
func SetDecision(i *state.Item, a state.Action, why Reason) {
	i.Action, i.Reason, i.State = a, string(why), FirstState(a, why)
	i.Class, i.Error = "", ""
	if i.State == state.ItemFailed {
		i.Class, i.Error = "permanent", cmp.Or(string(i.Obstacle), string(why))
	}
}

// ReusesAsset reports whether an item replaces the content of an asset that belonged to another
// key, or would if users had not changed that asset.
func ReusesAsset(i state.Item) bool {
	return (i.Action == state.Replace || i.Action == state.Conflict) && i.PreviousKey != "" && i.PreviousKey != i.Key
}

// ReplacedKey returns the key of the receipt that an item's receipt replaces, "" if there is none.
func ReplacedKey(i state.Item) sources.Key {
	if i.Action == state.Replace {
		return cmp.Or(i.PreviousKey, i.Key)
	}
	if i.Reason == string(ReasonAssetDeletedCreated) { // the object may have got another key since
		return cmp.Or(i.PreviousKey, i.Key)
	}
	return i.PreviousKey
}
