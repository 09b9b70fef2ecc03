package migrate

import (
	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/state"
)

// Changes is changes of an asset that nobody describes, for tests of what an apply leaves
// behind.
func Changes(r state.Receipt, a assets.Asset) []string { return changes(r, metadata.Metadata{}, a) }

// FormerOf is what is kept of an asset that a run is about to change.
func FormerOf(a assets.Asset) any { return formerOf(a) }
