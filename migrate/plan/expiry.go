package plan

import (
	"context"
	"errors"
	"maps"
	"time"

	"assetferry/migrate"
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
	if countOf(tallies, migrate.ReasonGracePeriod)+countOf(tallies, migrate.ReasonElsewhere)+countOf(tallies, migrate.ReasonTooYoung) == 0 { // as what is gone is decided at first
		return nil
	}
	doubt, err := e.mayBeMoved(ctx)
	if err != nil {
		return err
	}
	expired, due, err := e.countExpired(ctx, doubt)
	if err != nil || expired == 0 {
		return err
	}
	excess, err := e.guardDeletes(ctx, due)
	if err != nil {
		return err
	}
	return e.eachGone(ctx, doubt, func(i state.Item, s migrate.Situation) error {
		if !s.Expired {
			return nil
		}
		s.Excess = excess
		action, why := migrate.Decide(s, e.Rules)
		migrate.SetDecision(&i, action, why)
		return e.store(ctx, i)
	})
}

// countExpired counts what has been gone for long enough, and of that the assets that are due.
func (e *expiry) countExpired(ctx context.Context, doubt doubts) (expired, due int64, err error) {
	err = e.eachGone(ctx, doubt, func(_ state.Item, s migrate.Situation) error {
		if s.Expired {
			expired++
		}
		if s.Expired && !s.Elsewhere {
			due++
		}
		return nil
	})
	return expired, due, err
}

// eachGone passes the items whose assets may be trashed some day to f, and whether they
// have been gone for long enough: by the time of the first listing that missed them, and by
// one more that was finished since; and whether they may be what is in doubt.
func (e *expiry) eachGone(ctx context.Context, doubt doubts, f func(i state.Item, s migrate.Situation) error) error {
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
		s := migrate.Situation{Gone: true, Elsewhere: doubt.has(i.Size, orphan.Since)}
		s.Expired = known && orphan.Runs > 0 && !e.run.ListedAt.Before(orphan.Since.Add(e.Rules.Sync.GracePeriod))
		if err := f(i, s); err != nil {
			return err
		}
	}
	return errors.Join(e.flush(ctx), orphans.err)
}

// doubts are what is there and cannot be taken for now: any of it may be what is gone, under
// another key.
type doubts struct {
	sizes map[int64]bool
	since time.Time // there is something of unknown size since then, see unsizedSince; zero if there is none
}

// has reports whether an object may be in doubt by its size, or by when it was missed first: what
// could not be looked into before that is not where it went.
func (d doubts) has(size int64, missed time.Time) bool {
	return d.sizes[size] || !d.since.IsZero() && !missed.After(d.since)
}

// mayBeMoved finds what is there and cannot be taken for now.
func (e *expiry) mayBeMoved(ctx context.Context) (doubt doubts, err error) {
	doubt.sizes = maps.Clone(e.unread)
	known := newMergeCursor(e.State.Fingerprints(ctx, e.run.Pair.ID, ""), func(r state.Receipt) sources.Key { return r.Key })
	defer known.stop()
	unsized := false
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemFailed, state.ItemSkipped, state.ItemConflict) {
		if err != nil {
			return doubt, err
		}
		waits, err := e.waits(i, known)
		if err != nil {
			return doubt, err
		}
		switch {
		case !waits:
		case i.State == state.ItemFailed && i.Size == 0 && i.Obstacle != "":
			unsized = true
		default:
			doubt.sizes[i.Size] = true
		}
	}
	if unsized {
		doubt.since, err = e.unsizedSince(ctx)
	}
	return doubt, err
}

// waits reports whether an item is of an object that may be taken some day. One that is archived
// and has its asset, as it was sent, does not count.
func (e *expiry) waits(i state.Item, known *mergeCursor[state.Receipt]) (bool, error) {
	switch {
	case i.Asset != "":
		return false, nil
	case i.State != state.ItemSkipped, i.Reason == string(migrate.ReasonTooYoung):
		return true, nil
	case i.Reason != string(migrate.ReasonArchived):
		return false, nil
	}
	r, found, err := known.find(i.Key)
	return !found || !sameFingerprint(i.Object, r.Object, e.Source.Traits().Precision), err
}

// manyRuns are more than anybody asks how long something has been failing.
const manyRuns = 1000

// unsizedSince gives the time since which every listing has had all of unknown size that this one
// has. Only finished runs count that noted what is gone: all else they found, beside it.
func (e *expiry) unsizedSince(ctx context.Context) (since time.Time, err error) {
	since = e.run.ListedAt
	before, err := e.State.FinishedBefore(ctx, e.run, manyRuns)
	if err != nil {
		return since, err
	}
	for _, r := range before {
		rules, err := migrate.ReadRules(r)
		if err != nil {
			return since, err
		}
		if !rules.FollowsDeletions() {
			continue
		}
		if anew, err := e.State.MeetsAnew(ctx, e.run.Num, r.Num); err != nil || anew {
			return since, err
		}
		since = r.ListedAt
	}
	return since, nil
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
