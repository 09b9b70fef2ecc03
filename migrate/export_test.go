package migrate

import (
	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/sources"
	"assetferry/state"
)

// Changes is changes of an asset that nobody describes, for tests of what an apply leaves
// behind.
func Changes(r state.Receipt, a assets.Asset) []string { return changes(r, metadata.Metadata{}, a) }

// FormerOf is what is kept of an asset that a run is about to change.
func FormerOf(a assets.Asset) any { return formerOf(a) }

// ObjectOf is the object of an item, as the engine reads it from the journal.
func ObjectOf(i state.Item) sources.Object { return i.Object }

// EnoughTags is how many version tags of one day and folder tell of all of them.
const EnoughTags = enoughTags
