package plan

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/migrate/plan/identical"
	"assetferry/state"
)

// collisions resolves objects that would have the same place.
type collisions struct {
	*planning
	*decisions
	*placeComparer
	successions *successions
	deleted     *deletedCount
}

// do handles objects that would get the same place as another object, or as an asset that we
// created before. The first by key keeps its name.
func (k *collisions) do(ctx context.Context) error {
	if impossible, err := k.areImpossible(ctx); err != nil || impossible {
		return err
	}
	collisions, err := k.State.Collisions(ctx, k.run.Num, k.run.Pair.ID)
	if err != nil {
		return err
	}
	for group := range bySlot(collisions) {
		if err := k.resolveGroup(ctx, group); err != nil {
			return err
		}
	}
	return k.flush(ctx)
}

// resolveGroup handles the objects of one place.
func (k *collisions) resolveGroup(ctx context.Context, group []state.Collision) error {
	held := group[0].Held || slices.ContainsFunc(group, k.isResolved)
	for _, c := range group {
		if k.isResolved(c) {
			continue
		}
		if !held {
			held = true
			continue
		}
		if became, err := k.reuseAsset(ctx, c); err != nil {
			return err
		} else if became {
			continue
		}
		if err := k.resolve(ctx, c.Item); err != nil {
			return err
		}
	}
	return nil
}

// isResolved reports whether an object keeps its place whatever the others do.
func (k *collisions) isResolved(c state.Collision) bool {
	adopted := c.Action == state.Move && !k.Rules.FollowsDeletions() // in a former pass, see takeOver
	return c.Action == state.Adopt || migrate.ReusesAsset(c.Item) || adopted || c.State == state.ItemDone || c.State == state.ItemRetriesExhausted
}

// areImpossible reports whether all places are known to differ, without reading the items.
func (k *collisions) areImpossible(ctx context.Context) (bool, error) {
	if !k.overview.whole || k.overview.collision {
		return false, nil
	}
	known, err := k.State.SumReceipts(ctx, k.run.Pair.ID)
	return known.Objects == 0, err
}

// reuseAsset decides that an object gets the asset in its place if the asset has the same content
// and its own object was deleted: an upload would create a second asset with that content. If runs
// follow deletions, an earlier pass has handled this, and the function does nothing.
func (k *collisions) reuseAsset(ctx context.Context, c state.Collision) (became bool, err error) {
	if !c.Held || c.Action != state.Create || c.PreviousKey != "" || k.successions.followed[c.Holder] {
		return false, nil
	}
	if k.Rules.FollowsDeletions() || k.Rules.KeepsDuplicates() || k.Rules.AdoptOnly {
		return false, nil
	}
	r, err := k.State.Receipt(ctx, k.run.Pair.ID, c.Holder)
	if err != nil || r.Size != c.Size {
		return false, err
	}
	if deleted, err := k.isDeleted(ctx, r); err != nil || !deleted {
		return false, err
	}
	checksum, err := inventory.ChecksumOfObject(ctx, k.Source, c.Item.Object)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || !bytes.Equal(checksum, r.Checksum) { // the upload reports the error
		return false, nil
	}
	asset, left, err := k.asLeft(ctx, r)
	if err != nil || !left {
		return false, err
	}
	holder := state.Item{Object: r.Object, Asset: r.Asset}
	i, err := k.successions.become(ctx, identical.Move{
		Deleted: state.Candidate{Item: holder, Deleted: true, Checksum: r.Checksum}, New: state.Candidate{Item: c.Item},
	})
	if err != nil || i.Action != state.Move {
		return false, err
	}
	if k.deleted.objects > 0 { // it is under another key
		k.deleted.objects--
	}
	if err := k.store(ctx, i); err != nil {
		return false, err
	}
	former, err := k.formerly(ctx, i, r, asset, migrate.ConditionUnchanged)
	if err != nil {
		return false, err
	}
	return true, k.keepFormer(ctx, []state.Former{former}) // for an undo
}

// asLeft returns the asset of a receipt if it still matches the receipt. An asset that users
// deleted, moved or edited is not used for the content of another object.
func (k *collisions) asLeft(ctx context.Context, r state.Receipt) (asset assets.Asset, is bool, err error) {
	all, err := inventory.LookUp(ctx, k.Dest, []state.Receipt{r}, k.Concurrency)
	found := all[r.Asset]
	if err != nil || found.UnknownErr != nil {
		return asset, false, err
	}
	condition, err := k.condition(ctx, state.Move, r, found)
	return found.Asset, condition == migrate.ConditionUnchanged, err
}

// isDeleted checks in the source whether an uploaded object was deleted.
func (k *collisions) isDeleted(ctx context.Context, r state.Receipt) (bool, error) {
	content, err := k.Source.Open(ctx, r.Object, 0)
	if err == nil {
		return false, content.Close()
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return errors.Is(err, fs.ErrNotExist), nil
}

func (k *collisions) resolve(ctx context.Context, i state.Item) error {
	action, why := migrate.Decide(migrate.Situation{Taken: true}, k.Rules)
	renamed, moved := why == migrate.ReasonRenamed, i.Action == state.Move
	if renamed {
		i.Name = migrate.DistinctName(i.Name, i.Key)
		i.Slot = migrate.Place{Category: i.Category, Folder: i.Folder, Name: i.Name}.Slot()
	}
	if moved && action == state.Create { // the asset exists, and moves to the planned place
		action, why = state.Move, migrate.Reason(i.Reason)
	}
	migrate.SetDecision(&i, action, why)
	if renamed && !moved {
		places, err := k.inTheirPlaces(ctx, []state.Item{i}) // under its new name it may be there already
		if err != nil {
			return err
		}
		found, err := k.look(ctx, i, places[0], nil)
		if err != nil {
			return err
		}
		if found.existing != migrate.ExistingNothing {
			k.decideAgain(&i, found)
		}
	}
	return k.store(ctx, i)
}

func bySlot(all []state.Collision) func(yield func([]state.Collision) bool) {
	return func(yield func([]state.Collision) bool) {
		for len(all) > 0 {
			n := slices.IndexFunc(all, func(c state.Collision) bool { return c.Slot != all[0].Slot })
			if n < 0 {
				n = len(all)
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}
