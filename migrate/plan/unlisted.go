package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// hidden contains the key prefixes that a listing could not read. Objects below them do not count
// as missing.
type hidden []sources.Key

// pass records an object of the listing, and removes prefixes before it.
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

// unlisted handles objects in the state database that the listing does not contain.
type unlisted struct {
	*staging
	unread hidden // folders that could not be read, and links that were not followed
	missed int64  // uploaded objects of the wave of the run that are not listed
}

// addDeleted stages an item for an unlisted object, with an obstacle unless the listing could not
// read its folder.
func (u *unlisted) addDeleted(ctx context.Context, o sources.Object, why sources.Obstacle, m migrate.Memory, r state.Receipt) error {
	i := state.Item{Object: o}
	i.Obstacle = why
	if u.unread.hides(o.Key) {
		i.Obstacle = migrate.ObstacleUnseen
	}
	return u.addIn(ctx, i, u.situation(i.Object, m, r, state.Item{}, false), r, state.Item{})
}

// receipts returns the function that gets receipts of unlisted objects, or nil if this run ignores
// them. Their actions are decided after the listing.
func (u *unlisted) receipts(ctx context.Context) func(state.Receipt) error {
	follows := u.Rules.FollowsDeletions()
	if !follows && u.Rules.Wave == nil {
		return nil
	}
	return func(r state.Receipt) error {
		own := u.hasKey(r.Key)
		if own {
			u.missed++
		}
		if !follows {
			return nil
		}
		u.page.Cursor = r.Key
		if !own {
			return u.stageElsewhere(ctx, r)
		}
		return u.addDeleted(ctx, r.Object, migrate.ObstacleAbsent, migrate.MemorySame, r)
	}
}

// alias forgets an alias whose object is not listed any more; its asset belongs to another object.
// Aliases in folders that could not be listed are kept.
func (u *unlisted) alias(ctx context.Context, a state.Alias) error {
	if !u.hasKey(a.Key) {
		return nil
	}
	if u.unread.hides(a.Key) {
		return u.addDeleted(ctx, a.Object, migrate.ObstacleUnseen, migrate.MemoryNone, state.Receipt{})
	}
	if u.page.DroppedAliases = append(u.page.DroppedAliases, a.Key); len(u.page.DroppedAliases) < migrate.PageSize {
		return nil
	}
	return u.stage(ctx)
}

// sidecar marks a sidecar that is not listed any more as missed. Its metadata stays, and it stays
// known: a source that is incomplete for one run causes no metadata updates.
func (u *unlisted) sidecar(ctx context.Context, c state.Sidecar) error {
	if !u.hasKey(c.Key) {
		return nil
	}
	u.listing.claimed = false
	follows := u.FollowsSidecars()
	switch {
	case u.unread.hides(c.Key), follows && c.Missed != 0:
		return nil
	case follows && !c.Pending:
		c.Missed = u.run.Num
		u.page.Sidecars = append(u.page.Sidecars, c)
	default: // should it be back, it is as good as new
		u.page.DroppedSidecars = append(u.page.DroppedSidecars, c.Key)
	}
	if len(u.page.Sidecars)+len(u.page.DroppedSidecars) < migrate.PageSize {
		return nil
	}
	return u.stage(ctx)
}

// failure reports an object that is not listed any more although an asset may exist for it. It is
// reported in every run, because no other information leads to that asset.
func (u *unlisted) failure(ctx context.Context, f state.Failure) error {
	if !u.hasKey(f.Key) {
		return nil
	}
	if _, err := u.State.Receipt(ctx, u.run.Pair.ID, f.Key); !errors.Is(err, state.ErrNotFound) {
		return err // with a receipt it has an item of its own
	}
	return u.addDeleted(ctx, f.Object, migrate.ObstacleUnconfirmed, migrate.MemoryNone, state.Receipt{})
}

// outcome ends the listing if an object was deleted since the run was done with it.
func (u *unlisted) outcome(i state.Item) error {
	if i.Action == state.Trash || i.Joins() || !u.Rules.FollowsDeletions() || u.unread.hides(i.Key) {
		return nil // it was deleted already, or has no asset, or its absence means nothing
	}
	return &supersededError{i.Key}
}
