package migrate

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"assetferry/internal/assets"
	"assetferry/state"
)

// firstContact looks at a destination of which the journal knows nothing: it
// lists the places where objects would go, and decides anew about every object
// whose place is taken. So a lost journal ends in adoption, not in a second
// library.
func (d *decider) firstContact(ctx context.Context) error {
	d.Watch.Phase(PhaseInventory, int64(len(d.containers)), -1)
	found := int64(0)
	tree := newTree(d.Dest)
	for place := range d.containers {
		n, err := d.inventory(ctx, tree, place)
		if err != nil {
			return err
		}
		found += n
		d.Watch.Progress(1, 0)
	}
	if found == 0 {
		return nil
	}
	claimed := map[string]bool{} // assets that stand for an object already
	return d.everyItem(ctx, func(ctx context.Context, i *state.Item) (bool, error) {
		return d.meet(ctx, i, claimed)
	})
}

// inventory stages the assets of one container, if it is there.
func (d *decider) inventory(ctx context.Context, tree *tree, place Place) (found int64, err error) {
	if strings.HasPrefix(place.Category, newPrefix) {
		return 0, nil
	}
	folder, err := tree.find(ctx, place.Category, place.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return stageContainer(ctx, d.Deps, state.RunScope(d.run.Num), state.Container{Category: place.Category, Folder: folder},
		func(a assets.Asset) int64 { return Place{place.Category, place.Folder, a.Filename()}.slot() })
}

// stageContainer lists a container into an inventory and counts its assets. A
// container that is gone has none.
func stageContainer(ctx context.Context, d Deps, scope state.Scope, c state.Container, slot func(assets.Asset) int64) (n int64, err error) {
	o := assets.ListOptions{CategoryID: c.Category}
	if c.Folder != "" {
		o = assets.ListOptions{FolderID: c.Folder}
	}
	var entries []state.Entry
	flush := func() error {
		err := d.Journal.StageInventory(ctx, scope, entries)
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
		entries = append(entries, state.Entry{
			Asset: a.ID, Slot: slot(a), Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension,
			Size: a.Size, Status: string(a.Metadata.Status), URL: a.URL,
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
func (d *decider) meet(ctx context.Context, i *state.Item, claimed map[string]bool) (bool, error) {
	if i.Action != state.Create {
		return false, nil
	}
	entries, err := d.Journal.EntriesAt(ctx, state.RunScope(d.run.Num), i.Slot)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	s := Situation{Existing: Other}
	for _, e := range entries {
		if claimed[e.Asset] || e.Size != i.Size {
			continue
		}
		digest, err := d.equal(ctx, *i, e)
		if err != nil {
			return false, err
		}
		if digest != nil {
			s.Existing, i.Asset, i.Digest = Equal, e.Asset, digest
			break
		}
	}
	action, why := Decide(s, d.Rules)
	if action == state.Adopt {
		claimed[i.Asset] = true
	} else {
		i.Asset, i.Digest = "", nil
	}
	settle(i, action, why)
	return true, nil
}

// equal compares an object with an asset by reading both, and gives their common
// digest, or nil if they differ.
func (d *decider) equal(ctx context.Context, i state.Item, e state.Entry) ([]byte, error) {
	mine, err := digestOfObject(ctx, d.Source, object(i))
	if err != nil {
		// Sending it will tell what is wrong with it; equal it is not.
		d.Log.Debug("cannot compare with the destination", "key", i.Key, "error", err)
		return nil, nil
	}
	theirs, _, err := digestOfAsset(ctx, d.Dest, e.URL)
	if err != nil || !bytes.Equal(mine, theirs) {
		return nil, err
	}
	return mine, nil
}
