package plan

import (
	"context"
	"errors"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/plan/merge"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// An expiry trashes assets whose objects have been deleted at the source for long enough.
type expiry struct {
	*planning
	*decisions
	unread unreadSizes
	held   *heldDeletes
}

// heldDeletes is why a plan trashes none of the assets that it would; "" if it may.
type heldDeletes struct{ why string }

// do decides to trash the assets of objects that have been deleted for long enough, if
// that is wanted, and if they are no more than may be.
func (e *expiry) do(ctx context.Context) error {
	if !e.Rules.Trashes() || !e.Rules.FollowsDeletions() {
		return nil
	}
	tallies, err := e.tallies(ctx)
	if err != nil || countOf(tallies, migrate.ReasonLimit) > 0 { // it may exclude a deleted object under another key
		return err
	}
	if countOf(tallies, migrate.ReasonGracePeriod)+countOf(tallies, migrate.ReasonPossiblyMoved)+countOf(tallies, migrate.ReasonTooYoung) == 0 { // no candidates
		return nil
	}
	oldest, err := e.oldestExpired(ctx)
	if err != nil || oldest.IsZero() {
		return err
	}
	unconfirmed, err := e.mayBeMoved(ctx, oldest)
	if err != nil {
		return err
	}
	due, err := e.countDue(ctx, unconfirmed)
	if err != nil {
		return err
	}
	excess, err := e.checkDeletes(ctx, due)
	if err != nil {
		return err
	}
	return e.eachExpired(ctx, func(i state.Item, missed time.Time) error {
		action, why := migrate.Decide(migrate.Situation{Deleted: true, Expired: true, PossiblyMoved: unconfirmed.Has(i.Size, missed), TooMany: excess}, e.Rules)
		migrate.SetDecision(&i, action, why)
		return e.store(ctx, i)
	})
}

// oldestExpired returns the earliest time at which an object was missed first whose grace period is
// over, or zero if there is none.
func (e *expiry) oldestExpired(ctx context.Context) (oldest time.Time, err error) {
	err = e.eachExpired(ctx, func(_ state.Item, missed time.Time) error {
		if oldest.IsZero() || missed.Before(oldest) {
			oldest = missed
		}
		return nil
	})
	return oldest, err
}

// countDue counts the assets that are due.
func (e *expiry) countDue(ctx context.Context, unconfirmed *safety.Unconfirmed) (due int64, err error) {
	err = e.eachExpired(ctx, func(i state.Item, missed time.Time) error {
		if !unconfirmed.Has(i.Size, missed) {
			due++
		}
		return nil
	})
	return due, err
}

// eachExpired passes the items whose objects have been deleted for long enough to f, and when they
// were missed first: by the time of that listing, and by one more that was finished since.
func (e *expiry) eachExpired(ctx context.Context, f func(i state.Item, missed time.Time) error) error {
	orphans := merge.New(e.State.Orphans(ctx, e.run.Pair.ID, ""), func(o state.Orphan) sources.Key { return o.Key })
	defer orphans.Stop()
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemSkipped, state.ItemPlanned) {
		if err != nil {
			return err
		}
		orphan, known, err := orphans.Find(i.Key)
		if err != nil {
			return err
		}
		if i.Obstacle != migrate.ObstacleAbsent || i.Reason == string(migrate.ReasonExcluded) {
			continue
		}
		if known, err = e.stillAlone(ctx, i.Key, known); err != nil {
			return err
		}
		if !known || orphan.Runs == 0 || e.run.ListedAt.Before(orphan.Since.Add(e.Rules.Sync.GracePeriod)) {
			continue
		}
		if err := f(i, orphan.Since); err != nil {
			return err
		}
	}
	return errors.Join(e.flush(ctx), orphans.Err())
}

// mayBeMoved finds the objects that this run cannot process. Objects first missed before the given
// time do not matter.
func (e *expiry) mayBeMoved(ctx context.Context, oldest time.Time) (*safety.Unconfirmed, error) {
	unconfirmed := safety.NewUnconfirmed(e.State, e.run, oldest)
	for size := range e.unread {
		unconfirmed.AddSize(size)
	}
	known := merge.New(e.State.Fingerprints(ctx, e.run.Pair.ID, ""), func(r state.Receipt) sources.Key { return r.Key })
	defer known.Stop()
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemFailed, state.ItemSkipped, state.ItemConflict) {
		if err != nil {
			return nil, err
		}
		possible, err := e.isPossiblyMoved(i, known)
		switch {
		case err != nil:
			return nil, err
		case !possible:
		case i.State != state.ItemSkipped && i.Size == 0 && i.Obstacle != "":
			if err := unconfirmed.AddUnsized(ctx, i.Key); err != nil {
				return nil, err
			}
		default:
			unconfirmed.AddSize(i.Size)
		}
	}
	return unconfirmed, unconfirmed.Flush(ctx)
}

// isPossiblyMoved reports whether the object of an item may be readable later and turn out to be a
// deleted one. A known object that fails would be replaced, and an archived one still has its
// uploaded asset.
func (e *expiry) isPossiblyMoved(i state.Item, known *merge.Cursor[state.Receipt]) (bool, error) {
	switch {
	case i.Asset != "":
		return false, nil
	case i.State == state.ItemFailed && !i.Obstacle.HidesObjects():
		_, found, err := known.Find(i.Key)
		return !found, err
	case i.State != state.ItemSkipped, i.Reason == string(migrate.ReasonTooYoung):
		return true, nil
	case i.Reason != string(migrate.ReasonArchived):
		return false, nil
	}
	r, found, err := known.Find(i.Key)
	return !found || !sameFingerprint(i.Object, r.Object, e.Source.Traits().Precision), err
}

// stillAlone reports whether a deleted object is the only one that has its asset. If known is
// false, it was not missed before.
func (e *expiry) stillAlone(ctx context.Context, key sources.Key, known bool) (bool, error) {
	if !known {
		return false, nil
	}
	for _, err := range e.State.AliasesOf(ctx, e.run.Pair.ID, key) {
		return false, err
	}
	return true, nil
}

// checkDeletes reports whether more assets will be trashed than may be, and has the run
// remember that.
func (e *expiry) checkDeletes(ctx context.Context, due int64) (excess bool, err error) {
	known, err := e.sumKnown(ctx)
	if err != nil {
		return false, err
	}
	e.held.why = e.SafetyChecks.TooManyDeletes(due, known.Objects)
	return e.held.why != "", nil
}
