package migrate

import (
	"context"
	"iter"

	"assetferry/state"
)

// NewSkips lists the objects that a run skipped by the user's own rules, and that no earlier run of
// its pair skipped for the same reason.
func NewSkips(ctx context.Context, store *state.Store, run state.Run) iter.Seq2[state.SkippedObject, error] {
	var reasons []string
	for r, d := range definitions {
		if d.ownRule {
			reasons = append(reasons, string(r))
		}
	}
	return store.NewSkips(ctx, run, reasons)
}
