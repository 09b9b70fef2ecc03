package plan

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/migrate/plan/identical"
	"assetferry/state"
)

// oneAsset is the rule under which equal objects share one asset.
const oneAsset = "one-asset"

// joining makes objects with identical content share one asset.
type joining struct {
	*planning
	*decisions
	*decider
	lost     *changedOwners
	contents *identical.Comparer
}

// do finds, among the objects for which an asset is planned, those whose content another object
// has, and makes them share its asset. It runs after all other decisions, so the shared asset is
// planned or recorded in the state database.
//
// Only objects of the same size can be identical, so memory holds one size at a time. Empty objects
// are not joined. An asset has one category and one extension, so objects that differ in these have
// assets of their own.
//
// If identical objects are not meant to share an asset, only those are joined that shared one
// before and that are only read again.
func (j *joining) do(ctx context.Context) error {
	if j.Rules.Duplicates != oneAsset && j.trust(migrate.MemorySame) == migrate.MemorySame || j.Rules.AdoptOnly {
		return nil
	}
	left, err := j.tallies(ctx)
	if err != nil || !creates(left) {
		return err
	}
	j.Watch.Phase(migrate.PhaseCompare, -1, -1)
	equals := j.State.Sharers(ctx, j.run.Num, j.run.Pair.ID)
	if err := identical.BySize(equals, func(c state.Sharer) int64 { return c.Size }, func(group []state.Sharer) error { return j.joinGroup(ctx, group) }); err != nil {
		return err
	}
	return j.flush(ctx)
}

func creates(tallies []state.Tally) bool {
	for _, t := range tallies {
		if t.Action == state.Create && t.State == state.ItemPlanned {
			return true
		}
	}
	return false
}

// joinGroup joins objects of one size. Owners that have an asset come before owners that are still
// to upload.
func (j *joining) joinGroup(ctx context.Context, group []state.Sharer) error {
	byExtension := map[string][]*identical.Object{}
	for _, c := range group {
		if may, err := j.mayJoin(ctx, c); err != nil {
			return err
		} else if !may {
			continue
		}
		extension := strings.ToLower(path.Ext(string(c.Key)))
		byExtension[extension] = append(byExtension[extension], &identical.Object{Sharer: c})
	}
	for _, extension := range slices.Sorted(maps.Keys(byExtension)) { // contents read for one help with the next
		alike := byExtension[extension]
		if len(alike) < 2 {
			continue
		}
		if err := j.contents.Distinguish(ctx, alike); err != nil {
			return err
		}
		if err := j.joinAlike(ctx, alike); err != nil {
			return err
		}
	}
	return nil
}

// mayJoin reports whether an object may share an asset, or have others share its own. Objects of
// different waves share none, so that each wave can be undone.
func (j *joining) mayJoin(ctx context.Context, c state.Sharer) (bool, error) {
	if !j.hasKey(c.Key) {
		return false, nil
	}
	if c.Owns || j.Rules.Duplicates == oneAsset {
		return true, nil
	}
	_, err := j.State.AliasOwner(ctx, j.run.Pair.ID, c.Key)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// joinAlike joins objects of one size and extension, by content. Objects that cannot be read stay
// as they are: the upload reports the error.
func (j *joining) joinAlike(ctx context.Context, alike []*identical.Object) error {
	owners := map[[2]string]state.Item{} // by content and category
	for _, owns := range []bool{true, false} {
		for _, c := range alike {
			if c.Owns != owns || c.Content == "" || j.lost.owners[c.Key] != nil {
				continue
			}
			if err := j.findCategory(ctx, &c.Sharer); err != nil {
				return err
			}
			same := [2]string{c.Content, c.Category}
			owner, found := owners[same]
			switch {
			case !found:
				owners[same] = c.Item
			case !owns:
				if err := j.store(ctx, asAlias(c, owner)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findCategory adds the category to a receipt that was read without it.
func (j *joining) findCategory(ctx context.Context, c *state.Sharer) error {
	if c.Category != "" {
		return nil
	}
	r, err := j.State.Receipt(ctx, j.run.Pair.ID, c.Key)
	c.Category = r.Category
	return err
}

// confirmOwners checks the existing assets that more objects will share. If an asset does not match
// the state database, it is not shared, and these objects are new again.
func (j *joining) confirmOwners(ctx context.Context) (again bool, err error) {
	tallies, err := j.tallies(ctx)
	if err != nil || countOf(tallies, migrate.ReasonIdenticalObject) == 0 {
		return false, err
	}
	for page, err := range migrate.Pages(j.State.JoinedReceipts(ctx, j.run.Num, j.run.Pair.ID), assetCheckPage) {
		if err != nil {
			return false, err
		}
		lost, err := j.confirmPage(ctx, page)
		if err != nil {
			return false, err
		}
		again = again || lost
	}
	if !again {
		return false, nil
	}
	return true, j.everyItem(ctx, func(ctx context.Context, i *state.Item) (bool, error) {
		if !i.Joins() || i.State != state.ItemPlanned || j.lost.owners[i.PreviousKey] == nil {
			return false, nil
		}
		if err := j.lost.owners[i.PreviousKey].unknownErr; err != nil {
			i.PreviousKey = ""
			setUnknown(i, err)
			return true, nil
		}
		j.places.withdraw()
		return true, j.asNew(ctx, i, *i, true)
	})
}

func (j *joining) confirmPage(ctx context.Context, page []state.Receipt) (lost bool, err error) {
	seen, err := inventory.LookUp(ctx, j.Dest, page, j.Concurrency)
	if err != nil {
		return false, err
	}
	for _, r := range page {
		asset := seen[r.Asset]
		if asset.UnknownErr == nil {
			condition, err := j.condition(ctx, state.Unchanged, r, asset)
			if err != nil {
				return lost, err
			}
			if !isUnusableTo(r, asset, condition) {
				continue
			}
			if err := j.lost.detachAll(ctx, r.Key, &state.Item{}); err != nil {
				return lost, err
			}
		}
		j.lost.owners[r.Key], lost = &missingOwner{asset.UnknownErr}, true
	}
	return lost, nil
}

// asAlias returns the item of an object that shares the asset of another one. It has no place of
// its own.
func asAlias(o *identical.Object, owner state.Item) state.Item {
	i := o.Item
	i.PreviousKey, i.Slot = owner.Key, 0
	i.Checksum = owner.Checksum
	if sum := o.Checksum(); sum != nil {
		i.Checksum = sum
	}
	migrate.SetDecision(&i, state.Adopt, migrate.ReasonIdenticalObject)
	return i
}
