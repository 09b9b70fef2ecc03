package plan

import (
	"context"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// hidden are the beginnings of keys that a listing could not look behind, so that nothing
// follows from what is missing there.
type hidden []sources.Key

// pass takes note of an object of the listing, and forgets what lies before it.
func (h *hidden) pass(o sources.Object) {
	key := o.Key
	*h = slices.DeleteFunc(*h, func(begin sources.Key) bool { return key > begin && !strings.HasPrefix(string(key), string(begin)) })
	switch o.Obstacle {
	case sources.UnreadableDirectory:
		*h = append(*h, key)
	case sources.Symlink, sources.BrokenSymlink: // it may lead to a folder that was followed before
		*h = append(*h, key+"/")
	}
}

func (h hidden) hides(key sources.Key) bool {
	return slices.ContainsFunc(h, func(begin sources.Key) bool { return strings.HasPrefix(string(key), string(begin)) })
}

// missedIn gives what is to be told of objects that have arrived and are not listed; nil
// where nothing follows from that.
func (w *walk) missedIn(ctx context.Context) func(state.Receipt) error {
	if !w.Rules.FollowsGone() {
		return nil
	}
	return func(r state.Receipt) error { return w.missed(ctx, r) }
}

// missed stages an object that has arrived and is not listed. What is to become of its
// asset is decided once all is listed.
func (w *walk) missed(ctx context.Context, r state.Receipt) error {
	i := state.Item{Object: r.Object}
	i.Obstacle = migrate.ObstacleAbsent
	if w.unread.hides(r.Key) {
		i.Obstacle = migrate.ObstacleUnseen
	}
	if w.listing.decided {
		if err := w.judge(ctx, &i, w.situation(i.Object, migrate.Same, r, state.Item{}, false), r, state.Item{}); err != nil {
			return err
		}
	}
	w.page.Cursor = r.Key
	return w.add(ctx, i)
}

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
	if !e.Rules.Trashes() || !e.Rules.FollowsGone() {
		return nil
	}
	tallies, err := e.Journal.Tallies(ctx, e.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonLimit) > 0 { // what is gone may be among these, under another key
		return err
	}
	if countOf(tallies, migrate.ReasonQuarantine)+countOf(tallies, migrate.ReasonTooYoung) == 0 { // as what is gone is decided at first
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
	orphans := newMergeCursor(e.Journal.Orphans(ctx, e.run.Pair.ID, ""), func(o state.Orphan) sources.Key { return o.Key })
	defer orphans.stop()
	for i, err := range e.Journal.Items(ctx, e.run.Num, state.ItemSkipped, state.ItemPlanned) {
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
		expired := known && orphan.Runs > 0 && !hoped[i.Size] && !e.run.ListedAt.Before(orphan.Since.Add(e.Rules.Sync.Quarantine))
		if err := f(i, expired); err != nil {
			return err
		}
	}
	return e.flush(ctx)
}

// mayBeMoved gives the sizes of objects that are there and cannot be taken for now: one of
// them may be what is gone, under another key.
func (e *expiry) mayBeMoved(ctx context.Context) (sizes map[int64]bool, err error) {
	sizes = map[int64]bool{}
	for i, err := range e.Journal.Items(ctx, e.run.Num, state.ItemFailed, state.ItemSkipped, state.ItemConflict) {
		if err != nil {
			return nil, err
		}
		if i.Asset == "" && (i.State != state.ItemSkipped || i.Reason == string(migrate.ReasonTooYoung)) {
			sizes[i.Size] = true
		}
	}
	return sizes, nil
}
