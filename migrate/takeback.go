package migrate

import (
	"context"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/state"
)

// An Undoer carries out the plan of an undo: it trashes assets and does nothing else.
type Undoer struct {
	Deps
	Write Trasher
	Wait  time.Duration   // how long to stay where nothing works; see DefaultWait
	Again []time.Duration // the pauses between tries meanwhile
	// Stop, once closed, ends the undo in good order: what has begun is finished.
	// Cancelling the context instead aborts what is in flight.
	Stop <-chan struct{}
}

// NewUndoer makes an undoer with the usual settings.
func NewUndoer(d Deps, w Trasher) *Undoer {
	return &Undoer{Deps: d.withDefaults(), Write: w, Wait: DefaultWait, Again: DefaultAgain()}
}

func (u *Undoer) bulk(undo state.Run) *bulk {
	return &bulk{Deps: u.Deps, method: trashing{u.Write, u.Dest, u.Stop}, run: undo, wait: u.Wait, again: u.Again, stop: u.Stop}
}

// Apply carries out the plan of an undo. Assets that the service refuses to trash are data:
// they are in the journal, and Apply goes on. Its error says why the undo as a whole ended
// early, as that of Applier.Apply does.
func (u *Undoer) Apply(ctx context.Context, undo state.Run) error {
	undo, err := u.Journal.Run(ctx, undo.ID)
	if err != nil {
		return err
	}
	if err := u.begin(ctx, undo); err != nil {
		return err
	}
	defer keepAlive(u.Journal)()
	if err := u.bulk(undo).apply(ctx); err != nil {
		return err
	}
	err = u.Journal.FinishUndo(ctx, undo)
	faultpoint.Hit(faultpoint.Finished)
	return err
}

func (u *Undoer) begin(ctx context.Context, undo state.Run) error {
	tallies, err := u.Journal.Tallies(ctx, undo.Num)
	if err != nil {
		return err
	}
	left := int64(0)
	for _, t := range tallies {
		if t.State == state.ItemPlanned {
			left += t.Objects
		}
	}
	u.Watch.Phase(PhaseTrash, left, -1)
	return u.Journal.SetRunState(ctx, undo.Num, state.Planned, state.Applying)
}

// Settle finds out what became of the assets that a former process was about to trash, so
// that nothing of the undo is in flight any more. What is not trashed is planned again.
func (u *Undoer) Settle(ctx context.Context, undo state.Run) error {
	items, err := u.Journal.Interrupted(ctx, undo.Num)
	if err != nil {
		return err
	}
	return u.bulk(undo).settle(ctx, items)
}
