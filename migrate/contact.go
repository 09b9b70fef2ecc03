package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state"
)

// contact looks into the containers where objects would go, and decides anew
// about every object whose place is taken there. So a lost journal ends in
// adoption, not in a second library.
//
// A container is left out once the journal knows that nothing is in it but assets
// of this source: in the usual case that is from the moment we made it. One that
// holds other assets, those of another source included (which may be the same
// library under another path), is looked at in every plan that wants to put something
// there; to look just once would forget what a limit, a filter or a conflict
// left unsettled, and put a second copy there in the next run.
func (d *decider) contact(ctx context.Context) error {
	if err := d.share(ctx); err != nil {
		return err
	}
	places, err := d.toLookAt(ctx)
	if err != nil || len(places) == 0 {
		return err
	}
	if err := d.Journal.DropInventory(ctx, state.RunScope(d.run.Num)); err != nil {
		return err // of a former pass
	}
	d.Watch.Phase(PhaseInventory, -1, -1)
	found := int64(0)
	tree := newTree(d.Dest)
	for _, place := range places {
		n, err := d.inventory(ctx, tree, place)
		if err != nil {
			return err
		}
		found += n
	}
	if found == 0 {
		return nil
	}
	return d.everyItem(ctx, d.meet)
}

// share makes other sources look into the containers where objects of this one
// would go.
func (d *decider) share(ctx context.Context) error {
	var keys []state.PlaceKey
	for place := range d.containers {
		keys = append(keys, state.PlaceKey{Category: place.Category, Path: place.Folder})
	}
	return d.Journal.ForgetOursOfOthers(ctx, d.run.Pair, keys)
}

// toLookAt gives the containers that exist, or may, and may hold assets which
// are not ours.
func (d *decider) toLookAt(ctx context.Context) (places []Place, err error) {
	for place := range maps.Keys(d.containers) {
		if strings.HasPrefix(place.Category, newPrefix) {
			continue
		}
		ours, err := d.Journal.IsOurs(ctx, d.run.Pair.ID, place.Category, place.Folder)
		if err != nil {
			return nil, err
		}
		if !ours {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Folder, b.Folder))
	})
	return places, nil
}

// inventory stages the assets of one container that are not ours, if it is
// there, and counts them.
func (d *decider) inventory(ctx context.Context, tree *tree, place Place) (others int64, err error) {
	folder, err := tree.find(ctx, place.Category, place.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	ours := 0
	c := state.Container{Category: place.Category, Folder: folder}
	others, err = stageContainer(ctx, d.Deps, state.RunScope(d.run.Num), c, func(a assets.Asset) (int64, bool, error) {
		owned, err := d.Journal.HoldsAsset(ctx, d.run.Pair.ID, a.ID)
		if owned {
			ours++
		}
		return Place{place.Category, place.Folder, a.Filename()}.slot(), !owned, err
	})
	if err == nil && others == 0 && ours > 0 {
		err = d.Journal.SaveOurs(ctx, d.run.Pair.ID, place.Category, place.Folder)
	}
	return others, err
}

// stageContainer lists a container into an inventory, those assets that choose
// wants and at the slot that it gives, and counts them. A container that is gone
// has none.
func stageContainer(ctx context.Context, d Deps, scope state.Scope, c state.Container,
	choose func(assets.Asset) (slot int64, wanted bool, err error)) (n int64, err error) {
	o := assets.ListOptions{CategoryID: c.Category}
	if c.Folder != "" {
		o = assets.ListOptions{FolderID: c.Folder}
	}
	var entries []state.Entry
	flush := func() error {
		if len(entries) == 0 {
			return nil
		}
		err := d.Journal.StageInventory(ctx, scope, entries)
		d.Watch.Progress(int64(len(entries)), 0)
		n += int64(len(entries))
		entries = entries[:0]
		return err
	}
	for a, err := range d.Dest.List(ctx, o) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return n, err
		}
		slot, wanted, err := choose(a)
		if err != nil {
			return n, err
		}
		if !wanted {
			continue
		}
		entries = append(entries, state.Entry{
			Asset: a.ID, Slot: slot, Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension,
			Size: a.Size, Status: string(a.Metadata.Status), URL: a.URL, Mark: markOf(a),
		})
		if len(entries) == stagePage {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	return n, flush()
}

// meet decides about an object again if its place at the destination is taken.
// Assets that stand for another object do not count: resolveCollisions sees to
// those.
func (d *decider) meet(ctx context.Context, i *state.Item) (bool, error) {
	if i.Action != state.Create || i.State != state.ItemPlanned && i.State != state.ItemParked {
		return false, nil
	}
	entries, err := d.Journal.EntriesAt(ctx, state.RunScope(d.run.Num), i.Slot)
	if err != nil {
		return false, err
	}
	entries = slices.DeleteFunc(entries, func(e state.Entry) bool { return d.claimed[e.Asset] })
	slices.SortStableFunc(entries, func(a, b state.Entry) int { // the very name first, then others of its kind
		return cmp.Compare(nameDistance(a, i.Name), nameDistance(b, i.Name))
	})
	s := Situation{}
	for _, e := range entries {
		existing, digest, err := d.compare(ctx, *i, e)
		if err != nil {
			return false, err
		}
		if existing != Nothing {
			s.Existing = existing
		}
		if existing == Equal {
			i.Asset, i.Digest = e.Asset, digest
			break
		}
	}
	if s.Existing == Nothing {
		return false, nil
	}
	action, why := Decide(s, d.Rules)
	if action == state.Adopt {
		d.claimed[i.Asset] = true
	} else {
		i.Asset, i.Digest = "", nil
	}
	write(i, action, why)
	return true, nil
}

// nameDistance is 0 for an asset that has the name, 1 for one whose name only
// people would take for it.
func nameDistance(e state.Entry, name string) int {
	if sameName(assets.Asset{Name: e.Name, Extension: e.Extension}, name) {
		return 0
	}
	return 1
}

// compare tells what an asset is to an object by reading both, and gives their
// common digest if they are equal.
func (d *decider) compare(ctx context.Context, i state.Item, e state.Entry) (Existing, []byte, error) {
	if e.Size != i.Size || d.Rules.duplicates() {
		return Other, nil, nil
	}
	mine, err := digestOfObject(ctx, d.Source, object(i))
	switch {
	case ctx.Err() != nil:
		return Nothing, nil, context.Cause(ctx)
	case err != nil:
		// Sending it will tell what is wrong with it; equal it is not.
		d.Log.Debug("cannot compare with the destination", "key", i.Key, "error", err)
		return Other, nil, nil
	}
	if d.Rules.OnExisting == "adopt" {
		return Equal, mine, nil // on the user's word: verify --content tells what it is worth
	}
	if e.Mark == provenance(d.run.Pair.Source, i.Key, mine, e.Asset) {
		return Equal, mine, nil // it says itself that it is of this very content
	}
	theirs, err := digestOfWhole(ctx, d.Dest, e.Asset, e.URL, e.Size)
	class, _ := retry.Classify(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Nothing, nil, nil // deleted since it was listed
	case err != nil && class == retry.Permanent: // of this asset, so the others go on; that it is equal cannot be said
		d.Log.Warn("cannot compare with the destination", "key", i.Key, "asset", e.Asset, "error", err)
		return Other, nil, nil
	case err != nil:
		return Nothing, nil, err
	case !bytes.Equal(mine, theirs):
		return Other, nil, nil
	}
	return Equal, mine, nil
}
