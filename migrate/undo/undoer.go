package undo

import (
	"context"
	"errors"
	"slices"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// A Reverter is the part of the destination that an undo needs.
type Reverter interface {
	migrate.Trasher
	Restore(ctx context.Context, restorations ...assets.Restoration) error
	ValidateRestore(ctx context.Context, ids ...string) (map[string]assets.Restorability, error)
	Move(ctx context.Context, to assets.Target, transfers ...assets.Transfer) error
	Update(ctx context.Context, id string, changes assets.Changes) (assets.Asset, error)
	UseRevision(ctx context.Context, id, revisionID string) error
}

// An Undoer carries out the plan of an undo. Assets that the run created are trashed first, so that
// their names are available for restored ones.
type Undoer struct {
	*collect.Collector
	Write       Reverter
	Concurrency int             // maximum number of concurrent requests to the destination
	Wait        time.Duration   // how long to retry when all requests fail; see DefaultWait
	RetryPauses []time.Duration // the pauses between tries meanwhile
	// Stop, once closed, ends the undo in good order: work in progress is finished. Cancelling the
	// context instead aborts work in progress.
	Stop <-chan struct{}
}

// New makes an undoer with the usual settings.
func New(d migrate.Deps, w Reverter) *Undoer {
	return &Undoer{Collector: collect.New(d), Write: w, Concurrency: migrate.DefaultConcurrency, Wait: apply.DefaultWait, RetryPauses: apply.DefaultRetryPauses()}
}

// methods are the steps of an undo, in order.
func (u *Undoer) methods(undo state.Run) []*apply.Bulk {
	back := restoreMethod{Collector: u.Collector, write: u.Write, undo: undo, concurrency: u.Concurrency, stop: u.Stop}
	moves, others := back, back
	moves.of, others.of = state.Moves, state.OneByOne
	var all []*apply.Bulk
	for _, m := range []apply.Method{apply.Trashing{Write: u.Write, Dest: u.Dest, Stop: u.Stop}, moves, others} {
		all = append(all, &apply.Bulk{Deps: u.Deps, Method: m, Run: undo, Wait: u.Wait, RetryPauses: u.RetryPauses, Stop: u.Stop})
	}
	return all
}

// Apply applies the plan of an undo. A refusal of an asset is recorded and is not an error. An
// error means that the whole undo ended early, as in Applier.Apply.
func (u *Undoer) Apply(ctx context.Context, undo state.Run) error {
	undo, err := u.State.Run(ctx, undo.ID)
	if err != nil {
		return err
	}
	if err := u.begin(ctx, undo); err != nil {
		return err
	}
	defer apply.KeepAlive(u.State)()
	for _, b := range u.methods(undo) {
		if err := b.Apply(ctx); err != nil {
			return err
		}
	}
	err = u.State.FinishUndo(ctx, undo)
	faultpoint.Hit(faultpoint.Finished)
	return err
}

func (u *Undoer) begin(ctx context.Context, undo state.Run) error {
	tallies, err := u.State.Tallies(ctx, undo.Num)
	if err != nil {
		return err
	}
	left, phase := int64(0), migrate.PhaseTrash
	for _, t := range tallies {
		if t.State != state.ItemPlanned {
			continue
		}
		if left += t.Objects; t.Action != state.Trash {
			phase = migrate.PhaseUndo
		}
	}
	u.Watch.Phase(phase, left, -1)
	return u.State.StartUndo(ctx, undo)
}

// Resolve checks the assets that a former process was changing, so that no item of the undo is in
// flight. Items that were not undone are planned again.
func (u *Undoer) Resolve(ctx context.Context, undo state.Run) error {
	items, err := u.State.Interrupted(ctx, undo.Num)
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range u.methods(undo) {
		of := slices.DeleteFunc(slices.Clone(items), func(i state.Item) bool { return !b.Kind().Has(i) })
		errs = append(errs, b.Resolve(ctx, of))
	}
	return errors.Join(errs...)
}
