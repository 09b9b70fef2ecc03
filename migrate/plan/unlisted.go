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
