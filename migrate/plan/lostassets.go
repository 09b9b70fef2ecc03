package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// changedOwners detaches objects from shared assets whose content has changed.
type changedOwners struct {
	*planning
	*decisions
	*decider
	owners missingOwners
}

// detachFromChanged detaches the other objects that share an asset if it does not have their
// content any more, or is not in its place, and the plan does not restore it. The people who
// deleted or edited it considered one object only. The owner, whose item may be that of an heir, is
// handled as such.
func (l *changedOwners) detachFromChanged(ctx context.Context, i *state.Item, r state.Receipt, asset inventory.AssetStatus, condition migrate.Condition) error {
	if asset.UnknownErr != nil || !isUnusableTo(r, asset, condition) || restores(*i) {
		return nil
	}
	err := l.detachAll(ctx, r.Key, i)
	if i.Action == state.Move { // the changes of people move with the asset
		l.owners[i.Key] = &missingOwner{}
	}
	return err
}

// isUnusableTo reports whether an asset cannot serve the objects that share it any more.
func isUnusableTo(r state.Receipt, asset inventory.AssetStatus, condition migrate.Condition) bool {
	return !asset.There || condition == migrate.ConditionEdited || asset.CategoryID != r.Category
}

// restores reports whether an item restores the previous content of its asset.
func restores(i state.Item) bool {
	if i.State != state.ItemPlanned {
		return false
	}
	switch migrate.Reason(i.Reason) {
	case migrate.ReasonAssetDeletedCreated, migrate.ReasonAssetEditedReverted, migrate.ReasonAssetMovedReverted:
		return true
	}
	return false
}

// detachAll turns all aliases of an owner into new objects, and deletes the aliases from the state
// database, so that the next run does not take them for uploaded. One of them may be an heir, whose
// item is given.
func (l *changedOwners) detachAll(ctx context.Context, owner sources.Key, heir *state.Item) error {
	p, some := detachment{planning: l.planning, decisions: l.decisions, decider: l.decider}, false
	for a, err := range l.State.AliasesOf(ctx, l.run.Pair.ID, owner) {
		if err != nil {
			return err
		}
		some = true
		if a.Key != heir.Key {
			_, _, err = p.detach(ctx, a)
		} else if err = l.asNew(ctx, heir, state.Item{}, false); err == nil {
			err = l.store(ctx, *heir)
		}
		if err != nil {
			return err
		}
	}
	if !some {
		return nil
	}
	if err := p.end(ctx); err != nil {
		return err
	}
	return l.State.ForgetAliasesOf(ctx, l.run.Pair.ID, owner)
}

// missingOwners are objects whose assets others were to share, and why they are not.
type missingOwners map[sources.Key]*missingOwner

// A missingOwner is why no other process is to share the asset of an object.
type missingOwner struct{ unknownErr error } // nil if the asset does not match the state database
