package migrate

import (
	"context"
	"iter"

	"assetferry/state"
)

// NewSkips lists what a run skipped by rules of the user's own, and no earlier run of its
// pair for the same reason.
func NewSkips(ctx context.Context, store *state.Store, run state.Run) iter.Seq2[state.SkippedObject, error] {
	var reasons []string
	for r, d := range definitions {
		if d.ownRule {
			reasons = append(reasons, string(r))
		}
	}
	return store.NewSkips(ctx, run, reasons)
}
