package plan

import (
	"context"
	"errors"
	"iter"

	"assetferry/migrate"
	"assetferry/state"
)

// unclear lists the objects after the cursor that were sent and of which nobody can tell
// whether they arrived. To ask for them anew is how a person says that this is settled.
func (w *walk) unclear(ctx context.Context) iter.Seq2[state.Failure, error] {
	return func(yield func(state.Failure, error) bool) {
		if !w.Rules.FollowsGone() || w.RetryParked {
			return
		}
		for f, err := range w.Journal.Failures(ctx, w.run.Pair.ID, w.run.Cursor) {
			if err == nil && !f.Unclear {
				continue
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// unsettledAt has people told of an object that is not listed any more while an asset may be
// of it, with every run: nothing else would ever lead to that asset.
func (w *walk) unsettledAt(ctx context.Context, f state.Failure) error {
	if _, err := w.Journal.Receipt(ctx, w.run.Pair.ID, f.Key); !errors.Is(err, state.ErrNotFound) {
		return err // with a receipt it has an item of its own
	}
	i := state.Item{Object: f.Object}
	i.Obstacle = migrate.ObstacleUnsettled
	if w.unread.hides(f.Key) {
		i.Obstacle = migrate.ObstacleUnseen
	}
	if w.listing.decided {
		if err := w.judge(ctx, &i, w.situation(i.Object, migrate.Unknown, state.Receipt{}, state.Item{}, false), state.Receipt{}, state.Item{}); err != nil {
			return err
		}
	}
	return w.add(ctx, i)
}
