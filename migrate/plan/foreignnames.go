package plan

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// foreignNames are names of assets of others that assets of ours are to get.
type foreignNames struct {
	*planning
	*decisions
}

// do asks whether assets of others have the names that assets are to get, where
// they go: a service may refuse the name, or have two assets of it. Such an object is a
// conflict, as a new one is; an asset that was only to get its name back keeps the one it has.
//
// It comes when all names are decided, and asks for those of one place together.
func (n *foreignNames) do(ctx context.Context) error {
	if n.Rules.Sync == nil || n.Rules.KeepsDuplicates() || n.Rules.AdoptOnly {
		return nil // without a sync an asset goes nowhere but to the name that it has, case aside
	}
	if planned, err := n.countPlanned(ctx, state.Move, state.Replace); err != nil || planned == 0 {
		return err
	}
	tree := inventory.NewTree(n.Dest)
	theirs := inventory.NewForeignNames(tree, n.State, n.run.Pair.ID)
	for page, err := range migrate.Pages(n.State.Items(ctx, n.run.Num, state.ItemPlanned), migrate.PageSize) {
		if err != nil {
			return err
		}
		renames := slices.DeleteFunc(page, func(i state.Item) bool {
			return i.Action != state.Move && !migrate.TakesOver(i) || strings.HasPrefix(i.Category, migrate.NewPrefix)
		})
		if err := n.spareForeignNamesOf(ctx, tree, theirs, renames); err != nil {
			return err
		}
	}
	return n.flush(ctx)
}

func (n *foreignNames) spareForeignNamesOf(ctx context.Context, tree *inventory.Tree, theirs *inventory.ForeignNames, renames []state.Item) error {
	taken, err := n.takenAmong(ctx, tree, renames)
	if err != nil || len(taken) == 0 {
		return err
	}
	slots := make([]int64, len(taken))
	for at, i := range taken {
		slots[at] = i.Slot
	}
	ours, err := n.State.TakenPlaces(ctx, noRun, n.run.Pair.ID, slots)
	if err != nil {
		return err
	}
	recased, err := n.recasedAmong(ctx, taken)
	if err != nil {
		return err
	}
	if err := n.eachPlace(ctx, recased, func(ctx context.Context, at migrate.Place, _ []state.Item) error { return theirs.List(ctx, at) }); err != nil {
		return err
	}
	for _, i := range taken {
		if ours[i.Slot] && i.Reason != string(migrate.ReasonBack) && !theirs.Has(migrate.Place{Category: i.Category, Folder: i.Folder, Name: i.Name}) { // ours goes elsewhere, or has that name but for case
			continue
		}
		if has, err := n.hasItsName(ctx, tree, i); err != nil {
			return err
		} else if has {
			continue
		}
		if err := n.spareForeignName(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// noRun is the number of no run: nothing is wanted by its items.
const noRun = 0

func (n *foreignNames) spareForeignName(ctx context.Context, i state.Item) error {
	if i.Reason == string(migrate.ReasonNameFree) {
		return n.keepsName(ctx, &i)
	}
	action, why := migrate.Decide(migrate.Situation{Existing: migrate.ExistingOther}, n.Rules)
	migrate.SetDecision(&i, action, why)
	return n.store(ctx, i)
}

// takenAmong gives those of some items whose names are taken where they go, whoever has them.
func (n *foreignNames) takenAmong(ctx context.Context, tree *inventory.Tree, items []state.Item) (taken []state.Item, err error) {
	var mu sync.Mutex
	err = n.eachPlace(ctx, items, func(ctx context.Context, at migrate.Place, items []state.Item) error {
		names, err := n.namesTaken(ctx, tree, at, items)
		mu.Lock()
		defer mu.Unlock()
		for _, i := range items {
			if names[migrate.NormalName(i.Name)] {
				taken = append(taken, i)
			}
		}
		return err
	})
	slices.SortFunc(taken, func(a, b state.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return taken, err
}

// eachPlace calls f with what goes into one place, several at once.
func (n *foreignNames) eachPlace(ctx context.Context, items []state.Item, f func(ctx context.Context, at migrate.Place, items []state.Item) error) error {
	byPlace := map[migrate.Place][]state.Item{}
	for _, i := range items {
		at := migrate.Place{Category: i.Category, Folder: i.Folder}
		byPlace[at] = append(byPlace[at], i)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(n.Concurrency, 1))
	for at, items := range byPlace {
		g.Go(func() error { return f(ctx, at, items) })
	}
	return g.Wait()
}

// recasedAmong gives those of some items whose assets have their places, and so their names but
// for case. A service may not tell these apart.
func (n *foreignNames) recasedAmong(ctx context.Context, items []state.Item) (recased []state.Item, err error) {
	receipts, err := n.receiptsOf(ctx, items)
	for _, i := range items {
		if r, known := receipts[i.Asset]; known && r.Slot == i.Slot && i.Reason != string(migrate.ReasonBack) {
			recased = append(recased, i)
		}
	}
	return recased, err
}

// namesTaken asks which names of some items are taken in their place. Of a service that does
// not tell it is not known: it may still refuse them.
func (n *foreignNames) namesTaken(ctx context.Context, tree *inventory.Tree, at migrate.Place, items []state.Item) (map[string]bool, error) {
	target, err := tree.Target(ctx, at.Category, at.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for number, i := range items {
		names[number] = i.Name
	}
	found, err := n.Dest.NamesTaken(ctx, target, names...)
	if migrate.HasClass(err, retry.Permanent) {
		n.Log.Debug("cannot ask for names at the destination", "category", at.Category, "folder", at.Folder, "error", err)
		return nil, nil
	}
	taken := make(map[string]bool, len(found))
	for _, name := range found {
		taken[migrate.NormalName(name)] = true
	}
	return taken, err
}

// hasItsName reports whether the asset of an item is in its place under its name already, as a
// run left it whose outcome was lost.
func (n *foreignNames) hasItsName(ctx context.Context, tree *inventory.Tree, i state.Item) (bool, error) {
	asset, err := inventory.Ask(ctx, n.Dest, i.Asset)
	if err != nil || !asset.There {
		return false, err
	}
	folder, err := tree.Find(ctx, i.Category, i.Folder)
	return asset.CategoryID == i.Category && asset.FolderID == folder && migrate.NormalName(asset.Filename()) == migrate.NormalName(i.Name), err
}
