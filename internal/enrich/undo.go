package enrich

import (
	"assetferry/state/enrichment"
	"context"
	"fmt"
	"iter"
)

// Undo restores what a run of Apply changed, unless another user changed it afterwards, which
// is a conflict. If a later run of Apply changed it, undo that run first and repeat this undo.
// Undone proposals can be accepted again. An unknown run, or one of another destination, is an
// error. The result is valid even with an error.
func (e *Engine) Undo(ctx context.Context, run string) (Result, error) {
	if _, err := e.written(ctx, run); err != nil {
		return Result{}, err
	}
	return e.write(ctx, enrichment.Run{Command: "undo", Undoes: run}, func(w *writer, ctx context.Context) error {
		for c, err := range e.Undoable(ctx, run) {
			if err != nil {
				return err
			}
			if !w.start(ctx, c.Enrichment.Asset, func() error { return w.undo(ctx, c) }) {
				break
			}
		}
		return nil
	})
}

// written returns a run that wrote into the destination.
func (e *Engine) written(ctx context.Context, id string) (enrichment.Run, error) {
	run, err := e.Store.Run(ctx, id)
	switch {
	case err != nil:
		return run, err
	case run.Destination != e.Destination:
		return run, fmt.Errorf("run %s belongs to the destination %s", id, run.Destination)
	case run.Command != "apply":
		return run, fmt.Errorf("run %s is a run of enrich %s, which changes no assets: only runs of enrich apply can be undone", id, run.Command)
	}
	return run, nil
}

// Undoable lists the changes that Undo would restore.
func (e *Engine) Undoable(ctx context.Context, run string) iter.Seq2[enrichment.Change, error] {
	return func(yield func(enrichment.Change, error) bool) {
		for c, err := range e.Store.Changes(ctx, run) {
			if err == nil && c.State != enrichment.ChangeApplied && c.State != enrichment.ChangeUndoing {
				continue
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// undo restores one change. Its error ends the run.
func (w *writer) undo(ctx context.Context, c enrichment.Change) error {
	if isDecorative(c.Enrichment) { // first, as in apply
		if err := w.Decorative(ctx, false, c.Enrichment.Asset); err != nil {
			return err
		}
	}
	if err := w.Store.Undo(ctx, c.Run, c.Enrichment.Num, w.run.Num); err != nil {
		return err
	}
	c.State = enrichment.ChangeUndoing
	return w.completeChange(ctx, c)
}
