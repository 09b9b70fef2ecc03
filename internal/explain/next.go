package explain

import (
	"context"

	"assetferry/internal/clock"
	"assetferry/internal/flagname"
	"assetferry/migrate"
	"assetferry/state"
)

// afterStop returns the next step after the newest run, if a safety check stopped it: objects that
// look deleted may be missing because the source is unhealthy.
func (e *Explainer) afterStop(ctx context.Context, pair int64) (next Next, stopped bool, err error) {
	runs, err := e.Store.RunsOf(ctx, pair, 1)
	if err != nil || len(runs) == 0 || runs[0].Stopped == "" {
		return Next{}, false, err
	}
	tallies, err := e.Store.Tallies(ctx, runs[0].Num)
	return e.Advice.AfterRun(runs[0], tallies), true, err
}

// nextOf returns the next step for an object, by the action of the last run.
func (e *Explainer) nextOf(ctx context.Context, h History) (Next, error) {
	last := lastStage(h.stages)
	if last == nil {
		return Next{}, nil
	}
	holder, err := e.Store.Holder(ctx)
	if err != nil || holder.Alive && last.Run.Open() {
		return Next{}, err
	}
	if last.Run.Undoes != 0 {
		undone, err := e.Store.UndoneRun(ctx, last.Run)
		return e.afterUndone(undone, last.Item), err
	}
	if last.Item.Action == state.Trash && last.Item.State == state.ItemDone && h.receipt == nil {
		return Next{"To restore the asset from the trash, undo the whole run:", e.Advice.Undo(last.Run)}, nil
	}
	if isDeletion(migrate.Reason(last.Item.Reason)) {
		if next, stopped, err := e.afterStop(ctx, last.Run.Pair.ID); err != nil || stopped {
			return next, err
		}
	}
	tallies, err := e.Store.Tallies(ctx, last.Run.Num)
	return e.Advice.ForItem(last.Run, tallies, last.Item, clock.Now()), err
}

// afterUndone returns the next step for an object of a run that was undone.
func (e *Explainer) afterUndone(undone state.Run, i state.Item) Next {
	switch {
	case i.State != state.ItemDone && i.State != state.ItemSkipped:
		return Next{flagname.InText(migrate.Reason(i.Reason).Remedy()), e.Advice.Undo(undone)}
	case i.Action == state.Create:
		return Next{"Restored by the undo. A sync with --delete trash trashes it again. To keep it, restore the file at the source, or sync without --delete:",
			e.Advice.Command(undone, func(_ *string, r *migrate.Rules) { r.Sync.Delete = "never" })}
	}
	return Next{"Undone. To repeat it:", e.Advice.Command(undone, nil)}
}

// isDeletion reports whether a reason says that an object was deleted at the source.
func isDeletion(reason migrate.Reason) bool {
	return reason == migrate.ReasonDeletedAtSource || reason == migrate.ReasonGracePeriod || reason == migrate.ReasonPossiblyMoved || reason == migrate.ReasonTooManyDeletes
}
