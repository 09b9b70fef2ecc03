package plan

import (
	"context"
	"slices"
	"strings"

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
		return nil // without a sync an asset goes not used but to the name that it has, case aside
	}
	if planned, err := n.countPlanned(ctx, state.Move, state.Replace); err != nil || planned == 0 {
		return err
	}
	tree := inventory.NewTree(n.Dest)
	names := inventory.TakenNames{Dest: n.Dest, Tree: tree, Concurrency: n.Concurrency, Log: n.Log}
	theirs := inventory.NewForeignNames(tree, n.State, n.run.Pair.ID)
	for page, err := range migrate.Pages(n.State.Items(ctx, n.run.Num, state.ItemPlanned), migrate.PageSize) {
		if err != nil {
			return err
		}
		renames := slices.DeleteFunc(page, func(i state.Item) bool {
			return i.Action != state.Move && !migrate.ReusesAsset(i) || strings.HasPrefix(i.Category, migrate.NewPrefix)
		})
		if err := n.spareForeignNamesOf(ctx, names, theirs, renames); err != nil {
			return err
		}
	}
	return n.flush(ctx)
}

func (n *foreignNames) spareForeignNamesOf(ctx context.Context, names inventory.TakenNames, theirs *inventory.ForeignNames, renames []state.Item) error {
	taken, err := names.Among(ctx, renames)
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
	if err := names.EachPlace(ctx, recased, func(ctx context.Context, at migrate.Place, _ []state.Item) error { return theirs.List(ctx, at) }); err != nil {
		return err
	}
	for _, i := range taken {
		if ours[i.Slot] && i.Reason != string(migrate.ReasonAssetMovedReverted) && !theirs.Has(migrate.Place{Category: i.Category, Folder: i.Folder, Name: i.Name}) { // ours goes elsewhere, or has that name but for case
			continue
		}
		if has, err := names.HasAlready(ctx, i); err != nil {
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
	if i.Reason == string(migrate.ReasonNameAvailable) {
		return n.keepsName(ctx, &i)
	}
	action, why := migrate.Decide(migrate.Situation{Existing: migrate.ExistingOther}, n.Rules)
	migrate.SetDecision(&i, action, why)
	return n.store(ctx, i)
}

// recasedAmong gives those of some items whose assets have their places, and so their names but
// for case. A service may not distinguish these.
func (n *foreignNames) recasedAmong(ctx context.Context, items []state.Item) (recased []state.Item, err error) {
	receipts, err := n.receiptsOf(ctx, items)
	for _, i := range items {
		if r, known := receipts[i.Asset]; known && r.Slot == i.Slot && i.Reason != string(migrate.ReasonAssetMovedReverted) {
			recased = append(recased, i)
		}
	}
	return recased, err
}
