package enrich

import (
	"context"
	"fmt"
	"iter"

	"assetferry/state"
)

// Undo takes back what a run of Apply wrote, as far as it is as it was written; where
// somebody else wrote since there is a conflict, and nothing is changed; where that was a later
// run of Apply, once more after an undo of that one. The proposals can be accepted again after it. A run that is not known, or not one of this destination, is an
// error. The result is good also with an error.
func (e *Engine) Undo(ctx context.Context, run string) (Result, error) {
	if _, err := e.written(ctx, run); err != nil {
		return Result{}, err
	}
	return e.write(ctx, state.EnrichmentRun{Command: "undo", Undoes: run}, func(w *writer, ctx context.Context) error {
		for c, err := range e.Undoable(ctx, run) {
			if err != nil {
				return err
			}
			if !w.begin(ctx, c.Enrichment.Asset, func() error { return w.undo(ctx, c) }) {
				break
			}
		}
		return nil
	})
}

// written finds a run that wrote into the destination.
func (e *Engine) written(ctx context.Context, id string) (state.EnrichmentRun, error) {
	run, err := e.Journal.EnrichmentRun(ctx, id)
	switch {
	case err != nil:
		return run, err
	case run.Destination != e.Destination:
		return run, fmt.Errorf("run %s is one of the destination %s", id, run.Destination)
	case run.Command != "apply":
		return run, fmt.Errorf("run %s is one of %s, which wrote nothing into assets: only a run of apply can be taken back", id, run.Command)
	}
	return run, nil
}

// Undoable lists what Undo would take back.
func (e *Engine) Undoable(ctx context.Context, run string) iter.Seq2[state.Change, error] {
	return func(yield func(state.Change, error) bool) {
		for c, err := range e.Journal.EnrichmentChanges(ctx, run) {
			if err == nil && c.State != state.ChangeApplied && c.State != state.ChangeUndoing {
				continue
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// undo takes one change back. Its error ends the run.
func (w *writer) undo(ctx context.Context, c state.Change) error {
	if err := w.Journal.TakeBackEnrichment(ctx, c.Run, c.Enrichment.Num, w.run.Num); err != nil {
		return err
	}
	if isDecorative(c.Enrichment) {
		if err := w.Decorative(ctx, false, c.Enrichment.Asset); err != nil {
			return err
		}
	}
	c.State = state.ChangeUndoing
	return w.settleOne(ctx, c)
}
