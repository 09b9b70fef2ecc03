package explain

import (
	"context"

	"assetferry/internal/clock"
	"assetferry/internal/flagname"
	"assetferry/migrate"
	"assetferry/state"
)

// afterStop says what helps with the newest run of a pair, if a safety check stopped it: what
// it found gone may be a source in trouble.
func (e *Explainer) afterStop(ctx context.Context, pair int64) (next Next, stopped bool, err error) {
	runs, err := e.Store.RunsOf(ctx, pair, 1)
	if err != nil || len(runs) == 0 || runs[0].Stopped == "" {
		return Next{}, false, err
	}
	tallies, err := e.Store.Tallies(ctx, runs[0].Num)
	return e.Advice.AfterRun(runs[0], tallies), true, err
}

// nextOf says what helps with an object, by what the last run wanted with it.
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
		return Next{"To restore its asset from the trash, with all that the run did:", e.Advice.Undo(last.Run)}, nil
	}
	if isDeletion(migrate.Reason(last.Item.Reason)) {
		if next, stopped, err := e.afterStop(ctx, last.Run.Pair.ID); err != nil || stopped {
			return next, err
		}
	}
	tallies, err := e.Store.Tallies(ctx, last.Run.Num)
	return e.Advice.ForItem(last.Run, tallies, last.Item, clock.Now()), err
}

// afterUndone says what helps with an object of a run that was undone.
func (e *Explainer) afterUndone(undone state.Run, i state.Item) Next {
	switch {
	case i.State != state.ItemDone && i.State != state.ItemSkipped:
		return Next{flagname.InText(migrate.Reason(i.Reason).Remedy()), e.Advice.Undo(undone)}
	case i.Action == state.Create:
		return Next{"Restored by the undo; a sync with --delete trash trashes it again. To keep it, put the file back at the source, or sync without --delete:",
			e.Advice.Command(undone, func(_ *string, r *migrate.Rules) { r.Sync.Delete = "never" })}
	}
	return Next{"Undone. To do it again:", e.Advice.Command(undone, nil)}
}

// isDeletion reports whether a reason is that an object is not at the source any more.
func isDeletion(reason migrate.Reason) bool {
	return reason == migrate.ReasonDeletedAtSource || reason == migrate.ReasonGracePeriod || reason == migrate.ReasonPossiblyMoved || reason == migrate.ReasonTooManyDeletes
}
