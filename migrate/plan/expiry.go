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
	oldest, err := e.oldestExpired(ctx)
	if err != nil || oldest.IsZero() {
		return err
	}
	doubt, err := e.mayBeMoved(ctx, oldest)
	if err != nil {
		return err
	}
	due, err := e.countDue(ctx, doubt)
	if err != nil {
		return err
	}
	excess, err := e.guardDeletes(ctx, due)
	if err != nil {
		return err
	}
	return e.eachExpired(ctx, func(i state.Item, missed time.Time) error {
		action, why := migrate.Decide(migrate.Situation{Gone: true, Expired: true, Elsewhere: doubt.has(i.Size, missed), Excess: excess}, e.Rules)
		migrate.SetDecision(&i, action, why)
		return e.store(ctx, i)
	})
}

// oldestExpired gives when the first of what has been gone for long enough was missed first; zero
// if nothing has been.
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
func (e *expiry) countDue(ctx context.Context, doubt doubts) (due int64, err error) {
	err = e.eachExpired(ctx, func(i state.Item, missed time.Time) error {
		if !doubt.has(i.Size, missed) {
			due++
		}
		return nil
	})
	return due, err
}

// eachExpired passes the items whose objects have been gone for long enough to f, and when they
// were missed first: by the time of that listing, and by one more that was finished since.
func (e *expiry) eachExpired(ctx context.Context, f func(i state.Item, missed time.Time) error) error {
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
		if !known || orphan.Runs == 0 || e.run.ListedAt.Before(orphan.Since.Add(e.Rules.Sync.GracePeriod)) {
			continue
		}
		if err := f(i, orphan.Since); err != nil {
			return err
		}
	}
	return errors.Join(e.flush(ctx), orphans.err)
}

// doubts are what is there and cannot be taken for now: any of it may be what is gone, under
// another key.
type doubts struct {
	sizes map[int64]bool
	since time.Time // there is something of unknown size since then, see unsizedKeys; zero if there is none
}

// has reports whether an object may be in doubt by its size, or by when it was missed first: what
// could not be looked into before that is not where it went.
func (d doubts) has(size int64, missed time.Time) bool {
	return d.sizes[size] || !d.since.IsZero() && !missed.After(d.since)
}

// mayBeMoved finds what is there and cannot be taken for now. What was missed first before a time
// does not matter.
func (e *expiry) mayBeMoved(ctx context.Context, oldest time.Time) (doubt doubts, err error) {
	doubt.sizes = maps.Clone(e.unread)
	known := newMergeCursor(e.State.Fingerprints(ctx, e.run.Pair.ID, ""), func(r state.Receipt) sources.Key { return r.Key })
	defer known.stop()
	unsized := unsizedKeys{planning: e.planning, oldest: oldest}
	for i, err := range e.State.Items(ctx, e.run.Num, state.ItemFailed, state.ItemSkipped, state.ItemConflict) {
		if err != nil {
			return doubt, err
		}
		waits, err := e.waits(i, known)
		switch {
		case err != nil:
			return doubt, err
		case !waits:
		case i.State == state.ItemFailed && i.Size == 0 && i.Obstacle != "":
			if err := unsized.add(ctx, i.Key); err != nil {
				return doubt, err
			}
		default:
			doubt.sizes[i.Size] = true
		}
	}
	err = unsized.flush(ctx)
	doubt.since = unsized.since
	return doubt, err
}

// waits reports whether an item is of an object that may be taken some day, and be what is gone.
// A known one that fails would be replaced, and one that is archived has its asset, as it was sent.
func (e *expiry) waits(i state.Item, known *mergeCursor[state.Receipt]) (bool, error) {
	switch {
	case i.Asset != "":
		return false, nil
	case i.State == state.ItemFailed && !i.Obstacle.HidesObjects():
		_, found, err := known.find(i.Key)
		return !found, err
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

// unsizedKeys are those of what is there, of unknown size, and cannot be taken for now; a page of
// them at a time.
type unsizedKeys struct {
	*planning
	oldest time.Time   // what happened before does not matter
	before []state.Run // the newest first
	page   []sources.Key
	since  time.Time // every listing since then has had all of them; zero if there are none
}

func (u *unsizedKeys) add(ctx context.Context, key sources.Key) error {
	if u.page = append(u.page, key); len(u.page) < state.PageSize {
		return nil
	}
	return u.flush(ctx)
}

// flush finds since when there is what the page has.
func (u *unsizedKeys) flush(ctx context.Context) (err error) {
	if len(u.page) == 0 {
		return nil
	}
	if u.before == nil {
		if u.before, err = u.State.FinishedBefore(ctx, u.run, manyRuns); err != nil {
			return err
		}
	}
	since, err := u.pageSince(ctx)
	if since.After(u.since) {
		u.since = since
	}
	u.page = u.page[:0]
	return err
}

// pageSince gives the time since which every listing has had all of the page. Only finished runs
// count that noted what is gone: all else they found, beside it.
func (u *unsizedKeys) pageSince(ctx context.Context) (since time.Time, err error) {
	since = u.run.ListedAt
	for _, r := range u.before {
		if since.Before(u.oldest) {
			return since, nil
		}
		rules, err := migrate.ReadRules(r)
		if err != nil {
			return since, err
		}
		if !rules.FollowsDeletions() {
			continue
		}
		if met, err := u.State.MetUnsized(ctx, r.Num, u.page); err != nil || !met {
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
