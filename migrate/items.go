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

// ReusesAsset reports whether an item is decided to replace the content of an asset that had
// the object of another key, or was until people turned out to have changed that asset.
func ReusesAsset(i state.Item) bool {
	return (i.Action == state.Replace || i.Action == state.Conflict) && i.PreviousKey != "" && i.PreviousKey != i.Key
}

// ReplacedKey is the key of the receipt whose place that of an item takes, "" if there is
// none.
func ReplacedKey(i state.Item) sources.Key {
	if i.Action == state.Replace {
		return cmp.Or(i.PreviousKey, i.Key)
	}
	if i.Reason == string(ReasonAssetDeletedCreated) { // the object may have got another key since
		return cmp.Or(i.PreviousKey, i.Key)
	}
	return i.PreviousKey
}
