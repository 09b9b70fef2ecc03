package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/state"
)

// firstDecisions makes the first decision about each object, from the rules, the state database and
// the categories.
type firstDecisions struct {
	*planning
	*decisions
	*decider
	listing  *listing
	followed followedKeys
	claimed  claimedAssets

	history *history
}

// do decides about the staged objects, unless they were decided while they were staged.
func (f *firstDecisions) do(ctx context.Context) error {
	if f.listing.decided {
		f.Watch.Progress(f.listing.judged, 0)
	}
	if f.listing.decided && !f.listing.possibleSidecars {
		return nil
	}
	f.history = f.openHistory(ctx, "", nil)
	defer f.history.close()
	f.failures = f.history.failures
	decide := func(ctx context.Context) error { return f.everyItem(ctx, f.first) }
	if f.Mapping.PlaceNeedsMetadata() {
		decide = f.decideWithMetadata
	}
	if err := decide(ctx); err != nil {
		return err
	}
	return f.history.unread()
}

// first decides an item by the rules, the state database and the categories. Later passes consider
// the destination and the other objects.
func (f *firstDecisions) first(ctx context.Context, i *state.Item) (bool, error) {
	if f.listing.decided && i.State != state.ItemStaged || i.Reason == string(migrate.ReasonSidecar) || i.Reason == string(migrate.ReasonOtherWave) {
		return false, nil
	}
	if i.Obstacle == maybeSidecar {
		i.Obstacle = "" // it is no sidecar
	}
	if i.Action == state.Move || isSuccessor(*i) { // an earlier pass has found its previous key
		f.followed[i.PreviousKey] = true
		if i.Action != state.Create {
			return false, nil
		}
		if i.State != state.ItemDone { // which needs its place
			return true, f.judge(ctx, i, migrate.Situation{Memory: migrate.MemoryChanged, Condition: migrate.ConditionDeleted}, state.Receipt{}, state.Item{})
		}
	}
	if i.State == state.ItemDone { // an outcome from before this listing
		if i.Action == state.Create {
			f.places.creates++
		}
		return false, nil
	}
	approved, resolved, err := f.decideEarly(i)
	if resolved || err != nil {
		return resolved, err
	}
	o := i.Object
	memory, receipt, err := f.history.memory(o)
	if err != nil {
		return false, err
	}
	f.Watch.Progress(1, 0)
	s := f.situation(o, memory, receipt, approved, true)
	if err := f.checkMetadata(&s, o, receipt, true, f.history.redescribed); err != nil {
		return false, err
	}
	return true, f.judge(ctx, i, s, receipt, approved)
}

// decideWithMetadata decides every item after its metadata was read, because the rules need it for
// the placement.
func (f *firstDecisions) decideWithMetadata(ctx context.Context) error {
	for page, err := range migrate.Pages(f.State.Items(ctx, f.run.Num), migrate.PageSize) {
		if err != nil {
			return err
		}
		if f.foundMetadata, err = f.findMetadata(ctx, page); err != nil {
			return err
		}
		for _, i := range page {
			decided, err := f.first(ctx, &i)
			if err == nil && decided {
				err = f.store(ctx, i)
			}
			if err != nil {
				return err
			}
		}
	}
	f.foundMetadata = nil
	return f.flush(ctx)
}

// decideEarly makes the decisions that depend only on the approved plan. Otherwise it returns the
// approved item of the object.
func (f *firstDecisions) decideEarly(i *state.Item) (approved state.Item, resolved bool, err error) {
	if f.Approval == nil {
		return approved, false, nil
	}
	approved, known, err := f.history.approved.of(i.Key)
	if err != nil {
		return approved, false, err
	}
	switch drift := drifted(approved, *i); {
	case !known:
		migrate.SetDecision(i, state.Skip, migrate.ReasonNotApproved)
	case !acts(approved):
		i.Category, i.Folder, i.Name = approved.Category, approved.Folder, approved.Name // no slot
		migrate.SetDecision(i, approved.Action, migrate.Reason(approved.Reason))
	case len(drift) > 0:
		if approved.Asset != "" { // which no other process may adopt instead
			f.claimed[approved.Asset] = true
		}
		refuse(i, drift)
	default:
		return approved, false, nil
	}
	return approved, true, nil
}
