package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// changedOwners part objects from assets that have not what they share any more.
type changedOwners struct {
	*planning
	*decisions
	*decider
	owners missingOwners
}

// detachFromChanged parts from an asset those who share it, if it does not have what they share any
// more, or not where they would have it, and the plan does not see to that. People who deleted
// or edited it knew of one object. That they made something of it is reported the owner, whose
// item may be that of an heir.
func (l *changedOwners) detachFromChanged(ctx context.Context, i *state.Item, r state.Receipt, asset inventory.AssetStatus, condition migrate.Condition) error {
	if asset.UnknownErr != nil || !isUnusableTo(r, asset, condition) || restores(*i) {
		return nil
	}
	err := l.detachAll(ctx, r.Key, i)
	if i.Action == state.Move { // on which goes what people made of it
		l.owners[i.Key] = &missingOwner{}
	}
	return err
}

// isUnusableTo reports whether those who share the asset of a receipt have not what they share.
func isUnusableTo(r state.Receipt, asset inventory.AssetStatus, condition migrate.Condition) bool {
	return !asset.There || condition == migrate.ConditionEdited || asset.CategoryID != r.Category
}

// restores reports whether an item makes its asset again what it was.
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

// detachAll makes new objects of all aliases of an owner, and has the state database forget that
// they ever shared its asset: whatever becomes of them in this run, the next one must not take
// them for what has arrived. One of them may be an heir, whose item is given.
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
type missingOwner struct{ unknownErr error } // nil where the asset has not what the state database says
