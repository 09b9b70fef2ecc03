package plan

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/state"
)

// oneAsset is the rule under which equal objects share one asset.
const oneAsset = "one-asset"

// place has all that is to be created find its place at the destination, and what it may share
// instead. What cannot be shared after all takes a place like all else.
func (d *decider) place(ctx context.Context) error {
	for again := true; again; {
		for _, pass := range []func(context.Context) error{d.contact, d.resolveCollisions, d.spareForeignNames, d.joinEqual} {
			if err := pass(ctx); err != nil {
				return err
			}
		}
		var err error
		if again, err = d.confirmOwners(ctx); err != nil {
			return err
		}
	}
	return nil
}

// joinEqual finds among what is to be created the objects whose content another object has,
// and which are to share its asset. It comes when all else is decided: so what they share
// is to be there, or is already as far as the journal knows.
//
// Only objects of one size can be equal, so there is never more in memory than those. What
// is empty says nothing, and an asset keeps its category and its extension, so objects that
// differ in these have assets of their own.
//
// Where equal objects are not to share an asset, those still do that shared one before and
// that are only read again.
func (d *decider) joinEqual(ctx context.Context) error {
	if d.Rules.Duplicates != oneAsset && d.trust(migrate.Same) == migrate.Same || d.Rules.AdoptOnly {
		return nil
	}
	left, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || !creates(left) {
		return err
	}
	d.Watch.Phase(migrate.PhaseCompare, -1, -1)
	equals := d.Journal.Sharers(ctx, d.run.Num, d.run.Pair.ID)
	if err := eachSize(equals, func(c state.Sharer) int64 { return c.Size }, func(group []state.Sharer) error { return d.joinGroup(ctx, group) }); err != nil {
		return err
	}
	return d.flush(ctx)
}

func creates(tallies []state.Tally) bool {
	for _, t := range tallies {
		if t.Action == state.Create && t.State == state.ItemPlanned {
			return true
		}
	}
	return false
}

// joinGroup joins objects of one size. An owner that has an asset goes before one that is
// still to be sent.
func (d *decider) joinGroup(ctx context.Context, group []state.Sharer) error {
	byExtension := map[string][]*sharing{}
	for _, c := range group {
		if may, err := d.mayJoin(ctx, c); err != nil {
			return err
		} else if !may {
			continue
		}
		extension := strings.ToLower(path.Ext(string(c.Key)))
		byExtension[extension] = append(byExtension[extension], &sharing{Sharer: c})
	}
	for _, extension := range slices.Sorted(maps.Keys(byExtension)) { // what is read of one tells of the next
		alike := byExtension[extension]
		if len(alike) < 2 {
			continue
		}
		if err := d.tellApart(ctx, alike); err != nil {
			return err
		}
		if err := d.joinAlike(ctx, alike); err != nil {
			return err
		}
	}
	return nil
}

// mayJoin reports whether an object may share an asset, or have others share its own.
func (d *decider) mayJoin(ctx context.Context, c state.Sharer) (bool, error) {
	if c.Owns || d.Rules.Duplicates == oneAsset {
		return true, nil
	}
	_, err := d.Journal.AliasOwner(ctx, d.run.Pair.ID, c.Key)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// joinAlike joins objects of one size and extension, by their contents. Those of which none
// is known stay as they are: sending them will tell what is wrong with them.
func (d *decider) joinAlike(ctx context.Context, alike []*sharing) error {
	owners := map[[2]string]state.Item{} // by content and category
	for _, owns := range []bool{true, false} {
		for _, c := range alike {
			if c.Owns != owns || c.content == "" || d.lostOwners[c.Key] != nil {
				continue
			}
			if err := d.findCategory(ctx, &c.Sharer); err != nil {
				return err
			}
			same := [2]string{c.content, c.Category}
			owner, found := owners[same]
			switch {
			case !found:
				owners[same] = c.Item
			case !owns:
				if err := d.store(ctx, asAlias(c.Item, owner, c.content)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findCategory completes what is read of a receipt.
func (d *decider) findCategory(ctx context.Context, c *state.Sharer) error {
	if c.Category != "" {
		return nil
	}
	r, err := d.Journal.Receipt(ctx, d.run.Pair.ID, c.Key)
	c.Category = r.Category
	return err
}

// A loss is why nobody else is to share the asset of an object.
type loss struct{ unknownErr error } // nil where the asset has not what the journal says

// confirmOwners looks at the assets that were there before and that more objects are to share
// from now on. Where one is not what the journal says, nobody shares it any more, and the
// objects of which that was said are new again.
func (d *decider) confirmOwners(ctx context.Context) (again bool, err error) {
	tallies, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonJoined) == 0 {
		return false, err
	}
	for page, err := range migrate.Pages(d.Journal.JoinedReceipts(ctx, d.run.Num, d.run.Pair.ID), surveyPage) {
		if err != nil {
			return false, err
		}
		lost, err := d.confirmPage(ctx, page)
		if err != nil {
			return false, err
		}
		again = again || lost
	}
	if !again {
		return false, nil
	}
	return true, d.everyItem(ctx, func(ctx context.Context, i *state.Item) (bool, error) {
		if !i.Joins() || i.State != state.ItemPlanned || d.lostOwners[i.Origin] == nil {
			return false, nil
		}
		if err := d.lostOwners[i.Origin].unknownErr; err != nil {
			i.Origin = ""
			setUnknown(i, err)
			return true, nil
		}
		d.creates--
		return true, d.asNew(ctx, i, *i, true)
	})
}

func (d *decider) confirmPage(ctx context.Context, page []state.Receipt) (lost bool, err error) {
	seen, err := d.lookUp(ctx, page)
	if err != nil {
		return false, err
	}
	for _, r := range page {
		asset := seen[r.Asset]
		if asset.UnknownErr == nil {
			standing, err := d.standing(ctx, state.Unchanged, r, asset)
			if err != nil {
				return lost, err
			}
			if !isLostTo(r, asset, standing) {
				continue
			}
			if err := d.partAllFrom(ctx, r.Key, &state.Item{}); err != nil {
				return lost, err
			}
		}
		d.lostOwners[r.Key], lost = &loss{asset.UnknownErr}, true
	}
	return lost, nil
}

// tagged marks a content that a version tag tells, and not a digest.
const tagged = "tag:"

// asAlias gives the item of an object that shares the asset of another one. It takes no place.
func asAlias(i, owner state.Item, content string) state.Item {
	i.Origin, i.Slot = owner.Key, 0
	i.Digest = owner.Digest
	if !strings.HasPrefix(content, tagged) {
		i.Digest = []byte(content)
	}
	migrate.SetDecision(&i, state.Adopt, migrate.ReasonJoined)
	return i
}
