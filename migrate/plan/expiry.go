package plan

import (
	"context"
	"errors"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// An expiry trashes assets whose objects have been deleted at the source for long enough.
type expiry struct {
	*planning
	*decisions
	held *heldDeletes
}

// heldDeletes is why a plan trashes none of the assets that it would; "" if it may.
type heldDeletes struct{ why string }

// do decides to trash the assets of objects that have been gone for long enough, if
// that is wanted, and if they are no more than may be.
func (e *expiry) do(ctx context.Context) error {
	if !e.Rules.Trashes() || !e.Rules.FollowsDeletions() {
		return nil
	}
	tallies, err := e.State.Tallies(ctx, e.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonLimit) > 0 { // what is gone may be among these, under another key
		return err
	}
	if countOf(tallies, migrate.ReasonGracePeriod)+countOf(tallies, migrate.ReasonTooYoung) == 0 { // as what is gone is decided at first
		return nil
	}
	hoped, err := e.mayBeMoved(ctx)
	if err != nil {
		return err
	}
	due, err := e.countExpired(ctx, hoped)
	if err != nil || due == 0 {
		return err
	}
	excess, err := e.guardDeletes(ctx, due)
	if err != nil {
		return err
	}
	return e.eachGone(ctx, hoped, func(i state.Item, expired bool) error {
		if !expired {
			return nil
		}
		action, why := migrate.Decide(migrate.Situation{Gone: true, Expired: true, Excess: excess}, e.Rules)
		migrate.SetDecision(&i, action, why)
		return e.store(ctx, i)
	})
}

func (e *expiry) countExpired(ctx context.Context, hoped map[int64]bool) (due int64, err error) {
	err = e.eachGone(ctx, hoped, func(_ state.Item, expired bool) error {
		if expired {
			due++
		}
		return nil
	})
	return due, err
}

// eachGone passes the items whose assets may be trashed some day to f, and whether they
// have been gone for long enough: by the time of the first listing that missed them, and by
// one more that was finished since; and unless one of a size that is hoped for may be it.
func (e *expiry) eachGone(ctx context.Context, hoped map[int64]bool, f func(i state.Item, expired bool) error) error {
	orphans := newMergeCursor(e.State.Orphans(ctx, e.run.Pair.ID, ""), func(o state.Orphan) sources.Key { return o.Key })
	defer orphans.stop()
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemSkipped, state.ItemPlanned) {
		if err != nil {
			return err
		}
		orphan, known, err := orphans.find(i.Key)
		if err != nil {
			return err
		}
		if i.Obstacle != migrate.ObstacleAbsent || i.Reason == string(migrate.ReasonFiltered) {
			continue
		}
		if known, err = e.stillAlone(ctx, i.Key, known); err != nil {
			return err
		}
		expired := known && orphan.Runs > 0 && !hoped[i.Size] && !e.run.ListedAt.Before(orphan.Since.Add(e.Rules.Sync.GracePeriod))
		if err := f(i, expired); err != nil {
			return err
		}
	}
	return errors.Join(e.flush(ctx), orphans.err)
}

// mayBeMoved gives the sizes of objects that are there and cannot be taken for now: one of
// them may be what is gone, under another key.
func (e *expiry) mayBeMoved(ctx context.Context) (sizes map[int64]bool, err error) {
	sizes = map[int64]bool{}
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemFailed, state.ItemSkipped, state.ItemConflict) {
		if err != nil {
			return nil, err
		}
		if i.Asset == "" && (i.State != state.ItemSkipped || i.Reason == string(migrate.ReasonTooYoung)) {
			sizes[i.Size] = true
		}
	}
	return sizes, nil
}

// stillAlone reports of an object that is gone, and of which is known since when, whether it
// is the only one that its asset stands for.
func (e *expiry) stillAlone(ctx context.Context, key sources.Key, known bool) (bool, error) {
	if !known {
		return false, nil
	}
	for _, err := range e.State.AliasesOf(ctx, e.run.Pair.ID, key) {
		return false, err
	}
	return true, nil
}

// guardDeletes reports whether more assets are to be trashed than may be, and has the run
// remember that.
func (e *expiry) guardDeletes(ctx context.Context, due int64) (excess bool, err error) {
	known, err := e.State.SumReceipts(ctx, e.run.Pair.ID)
	if err != nil {
		return false, err
	}
	e.held.why = e.Guards.TooManyDeletes(due, known.Objects)
	return e.held.why != "", nil
}
