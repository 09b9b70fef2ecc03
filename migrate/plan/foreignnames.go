package plan

import (
	"context"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// foreignNames finds names of foreign assets that own assets are about to get.
type foreignNames struct {
	*planning
	*decisions
}

// do checks whether foreign assets have the names that assets are about to get, in the same place:
// a service may refuse the name, or have two assets with it. Such an object is a conflict, like a
// new one. An asset whose name would only be restored keeps its present name.
//
// It runs after all names are decided, and reads each place once.
func (n *foreignNames) do(ctx context.Context) error {
	if n.Rules.Sync == nil || n.Rules.KeepsDuplicates() || n.Rules.AdoptOnly {
		return nil // without a sync an asset gets only its own name, possibly in another case
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
		if ours[i.Slot] && i.Reason != string(migrate.ReasonAssetMovedReverted) && !theirs.Has(migrate.Place{Category: i.Category, Folder: i.Folder, Name: i.Name}) { // ours goes elsewhere, or differs in case only
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

// noRun is no run number: it selects no items.
const noRun = 0

func (n *foreignNames) spareForeignName(ctx context.Context, i state.Item) error {
	if i.Reason == string(migrate.ReasonNameAvailable) {
		return n.keepsName(ctx, &i)
	}
	action, why := migrate.Decide(migrate.Situation{Existing: migrate.ExistingOther}, n.Rules)
	migrate.SetDecision(&i, action, why)
	return n.store(ctx, i)
}

// recasedAmong returns the items whose assets have their places, with names that differ at most in
// case. A service may not distinguish these.
func (n *foreignNames) recasedAmong(ctx context.Context, items []state.Item) (recased []state.Item, err error) {
	receipts, err := n.receiptsOf(ctx, items)
	for _, i := range items {
		if r, known := receipts[i.Asset]; known && r.Slot == i.Slot && i.Reason != string(migrate.ReasonAssetMovedReverted) {
			recased = append(recased, i)
		}
	}
	return recased, err
}
