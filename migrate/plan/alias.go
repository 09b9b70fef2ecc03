package plan

import (
	"context"
	"path"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// isAlias reports whether an object still is an alias, by all that its fingerprint says, and
// nothing else is to be said of it.
func (w *walk) isAlias(o sources.Object, a state.Alias, approved state.Item, isApproved bool) bool {
	s := w.situation(o, migrate.Same, state.Receipt{}, approved, isApproved)
	switch {
	case !sameFingerprint(o, a.Object, w.Source.Traits().Precision):
		return false
	case a.Run != w.run.Num && isApproved && acts(approved): // it was to become something else
		return false
	case w.trust(migrate.Same) != migrate.Same: // to be read again
		return false
	}
	return s.LeftOut == "" && s.Failed == ""
}

// passAlias counts an object that is an alias and has not changed.
func (w *walk) passAlias(ctx context.Context, a state.Alias) error {
	w.chain.pass(a.Key)
	w.listed++
	w.Watch.Progress(1, 0)
	if a.Run == w.run.Num { // joined before the run was listed again: it counts as done
		return nil
	}
	name, extension := migrate.SplitName(path.Base(string(a.Key)))
	return w.countUnchanged(ctx, state.Receipt{Object: a.Object, Name: name, Extension: extension})
}

// lostAlias has an alias forgotten whose object is not listed any more. Nothing is lost with
// it. Of one that the listing could not look for nothing is known.
func (w *walk) lostAlias(ctx context.Context, a state.Alias) error {
	if !w.unread.hides(a.Key) {
		if w.page.LostAliases = append(w.page.LostAliases, a.Key); len(w.page.LostAliases) < migrate.PageSize {
			return nil
		}
		return w.stage(ctx)
	}
	i := state.Item{Object: a.Object}
	i.Obstacle = migrate.ObstacleUnseen
	if w.listing.decided {
		if err := w.judge(ctx, &i, w.situation(i.Object, migrate.Unknown, state.Receipt{}, state.Item{}, false), state.Receipt{}, state.Item{}); err != nil {
			return err
		}
	}
	return w.add(ctx, i)
}
