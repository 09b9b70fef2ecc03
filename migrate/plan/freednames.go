package plan

import (
	"context"
	"errors"
	"strings"

	"assetferry/migrate"
	"assetferry/state"
)

// availableNames finds names that assets could not get when they were uploaded.
type availableNames struct {
	*planning
	*decisions
}

// do renames assets whose wanted names were taken when they were created and are available now.
// Users find such an asset by the name that it has at the source. Without an available name, it
// sends no request.
func (n *availableNames) do(ctx context.Context) error {
	if !n.Rules.FollowsDeletions() {
		return nil
	}
	approved := n.approvals("")
	defer approved.close()
	folders := folderPaths{}
	for page, err := range migrate.Pages(migrate.RenamedAssets(ctx, n.State, n.run.Pair.ID), migrate.PageSize) {
		if err != nil {
			return err
		}
		var renames []state.Item
		for _, r := range page {
			i, is, err := n.nameBack(ctx, folders, r)
			if err == nil && is && approved != nil {
				i, is, err = approvedName(approved, i)
			}
			if err != nil {
				return err
			}
			if is {
				renames = append(renames, i)
			}
		}
		if err := n.takeFree(ctx, renames); err != nil {
			return err
		}
	}
	return nil
}

// approvedName reports whether an approved plan restores the name of an asset.
func approvedName(approved *approvals, i state.Item) (state.Item, bool, error) {
	a, known, err := approved.of(i.Key)
	return i, known && a.Reason == i.Reason, err
}

// takeFree stages the items whose places are free, one for each place.
func (n *availableNames) takeFree(ctx context.Context, renames []state.Item) error {
	if len(renames) == 0 {
		return nil
	}
	slots := make([]int64, len(renames))
	for at, i := range renames {
		slots[at] = i.Slot
	}
	taken, err := n.State.TakenPlaces(ctx, n.run.Num, n.run.Pair.ID, slots)
	if err != nil {
		return err
	}
	var free []state.Item
	for _, i := range renames {
		if !taken[i.Slot] {
			taken[i.Slot] = true
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return nil
	}
	if err := n.addDrift(ctx, free); err != nil {
		return err
	}
	for _, i := range free {
		if err := n.store(ctx, i); err != nil {
			return err
		}
	}
	return n.flush(ctx)
}

// nameBack returns an item that gives an asset the name of its object, if the name has the suffix
// of a collision and the plan does nothing else with the object.
func (n *availableNames) nameBack(ctx context.Context, folders folderPaths, r state.Receipt) (i state.Item, is bool, err error) {
	name, is := nameBefore(r)
	if !is || !n.hasKey(r.Key) {
		return i, false, nil
	}
	if _, err := n.State.Item(ctx, n.run.Num, r.Key); !errors.Is(err, state.ErrNotFound) {
		return i, false, err
	}
	folder, known, err := folders.of(ctx, n.planning, r)
	if err != nil || !known {
		return i, false, err
	}
	i = state.Item{
		Object: r.Object, Asset: r.Asset, PreviousKey: r.Key,
		Category: r.Category, Folder: folder, Name: name, Slot: migrate.Place{Category: r.Category, Folder: folder, Name: name}.Slot(),
	}
	migrate.SetDecision(&i, state.Move, migrate.ReasonNameAvailable)
	return i, true, nil
}

// nameBefore returns the name of an object without the suffix of a collision, and whether it has
// one.
func nameBefore(r state.Receipt) (name string, is bool) {
	has := r.Filename()
	if name = migrate.NameOf(r.Key); migrate.DistinctName(name, r.Key) == has { // which a long name is cut for
		return name, true
	}
	cut := strings.LastIndexByte(r.Name, '~')
	if cut < 0 {
		return "", false
	}
	if name = r.Name[:cut]; r.Extension != "" {
		name += "." + r.Extension
	}
	return name, migrate.DistinctName(name, r.Key) == has
}

// folderPaths are the paths of folders by their IDs, for each category.
type folderPaths map[string]map[string]string

// of returns the path of the folder of a receipt, if the state database knows it.
func (f folderPaths) of(ctx context.Context, p *planning, r state.Receipt) (folder string, known bool, err error) {
	if r.Folder == "" {
		return "", true, nil
	}
	if f[r.Category] == nil {
		ids, err := p.State.Folders(ctx, p.run.Pair.Destination, r.Category)
		if err != nil {
			return "", false, err
		}
		f[r.Category] = make(map[string]string, len(ids))
		for path, id := range ids {
			f[r.Category][id] = path
		}
	}
	folder, known = f[r.Category][r.Folder]
	return folder, known, nil
}

// keepsName keeps the present name of an asset instead of that of its object, if people have moved
// or renamed it since.
func (d *decisions) keepsName(ctx context.Context, i *state.Item) error {
	i.PreviousKey = ""
	migrate.SetDecision(i, state.Unchanged, migrate.ReasonUnchanged)
	return d.store(ctx, *i)
}
