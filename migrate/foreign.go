package migrate

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state"
)

// spareForeignNames asks whether assets of others have the names of what is to be moved, where
// it goes: a service may refuse the name, or have two assets of it. Such an object is a
// conflict, as a new one is; an asset that was only to get its name back keeps the one it has.
//
// It comes when all names are decided, and asks for those of one place together.
func (d *decider) spareForeignNames(ctx context.Context) error {
	if d.Rules.Sync == nil || d.Rules.duplicates() || d.Rules.AdoptOnly {
		return nil // without a sync an asset goes nowhere but to the name that it has, case aside
	}
	if n, err := d.countPlanned(ctx, state.Move); err != nil || n == 0 {
		return err
	}
	tree := newTree(d.Dest)
	for page, err := range pages(d.Journal.Items(ctx, d.run.Num, state.ItemPlanned), stagePage) {
		if err != nil {
			return err
		}
		moves := slices.DeleteFunc(page, func(i state.Item) bool {
			return i.Action != state.Move || strings.HasPrefix(i.Category, newPrefix)
		})
		if err := d.spareForeignNamesOf(ctx, tree, moves); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

func (d *decider) spareForeignNamesOf(ctx context.Context, tree *tree, moves []state.Item) error {
	taken, err := d.takenAmong(ctx, tree, moves)
	if err != nil || len(taken) == 0 {
		return err
	}
	slots := make([]int64, len(taken))
	for n, i := range taken {
		slots[n] = i.Slot
	}
	ours, err := d.Journal.TakenPlaces(ctx, noRun, d.run.Pair.ID, slots)
	if err != nil {
		return err
	}
	for _, i := range taken {
		if ours[i.Slot] && i.Reason != string(ReasonBack) { // it goes elsewhere, or has that name but for case
			continue
		}
		if has, err := d.hasItsName(ctx, tree, i); err != nil {
			return err
		} else if has {
			continue
		}
		if err := d.spareForeignName(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// noRun is the number of no run: nothing is wanted by its items.
const noRun = 0

func (d *decider) spareForeignName(ctx context.Context, i state.Item) error {
	if i.Reason == string(ReasonNameFree) {
		return d.keepsName(ctx, &i)
	}
	action, why := Decide(Situation{Existing: Other}, d.Rules)
	write(&i, action, why)
	return d.store(ctx, i)
}

// takenAmong gives those of some moves whose names are taken where they go, whoever has them.
func (d *decider) takenAmong(ctx context.Context, tree *tree, moves []state.Item) (taken []state.Item, err error) {
	byPlace := map[Place][]state.Item{}
	for _, i := range moves {
		at := Place{Category: i.Category, Folder: i.Folder}
		byPlace[at] = append(byPlace[at], i)
	}
	var mu sync.Mutex
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(max(d.Concurrency, 1))
	for at, items := range byPlace {
		g.Go(func() error {
			names, err := d.namesTaken(parallel, tree, at, items)
			mu.Lock()
			defer mu.Unlock()
			for _, i := range items {
				if names[normal(i.Name)] {
					taken = append(taken, i)
				}
			}
			return err
		})
	}
	err = g.Wait()
	slices.SortFunc(taken, func(a, b state.Item) int { return strings.Compare(a.Key, b.Key) })
	return taken, err
}

// namesTaken asks which names of some items are taken in their place. Of a service that does
// not tell it is not known: it may still refuse them.
func (d *decider) namesTaken(ctx context.Context, tree *tree, at Place, items []state.Item) (map[string]bool, error) {
	target, err := d.targetAt(ctx, tree, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = i.Name
	}
	found, err := d.Dest.NamesTaken(ctx, target, names...)
	if isOf(err, retry.Permanent) {
		d.Log.Debug("cannot ask for names at the destination", "category", at.Category, "folder", at.Folder, "error", err)
		return nil, nil
	}
	taken := make(map[string]bool, len(found))
	for _, name := range found {
		taken[normal(name)] = true
	}
	return taken, err
}

// targetAt finds a place at the destination.
func (d *decider) targetAt(ctx context.Context, tree *tree, at Place) (assets.Target, error) {
	folder, err := tree.find(ctx, at.Category, at.Folder)
	if err != nil || folder == "" {
		return assets.Target{CategoryID: at.Category}, err
	}
	return assets.Target{FolderID: folder}, nil
}

// hasItsName reports whether the asset of an item is in its place under its name already, as a
// run left it whose outcome was lost.
func (d *decider) hasItsName(ctx context.Context, tree *tree, i state.Item) (bool, error) {
	asset, err := d.Dest.Asset(ctx, i.Asset)
	if isOf(err, retry.Permanent) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	folder, err := tree.find(ctx, i.Category, i.Folder)
	return asset.CategoryID == i.Category && asset.FolderID == folder && normal(asset.Filename()) == normal(i.Name), err
}
