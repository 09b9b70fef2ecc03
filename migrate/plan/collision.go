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
	"assetferry/state"
)

// resolveCollisions deals with objects that would take the same place as another
// object or as an asset that we made before. The first by key keeps its name.
func (d *decider) resolveCollisions(ctx context.Context) error {
	collisions, err := d.Journal.Collisions(ctx, d.run.Num, d.run.Pair.ID)
	if err != nil {
		return err
	}
	settled := func(c state.Collision) bool {
		tookOver := c.Action == state.Move && !d.Rules.FollowsGone() // in a former pass, see takeOver
		return c.Action == state.Adopt || migrate.TakesOver(c.Item) || tookOver || c.State == state.ItemDone || c.State == state.ItemParked
	}
	for group := range bySlot(collisions) {
		held := group[0].Held || slices.ContainsFunc(group, settled)
		for _, c := range group {
			if settled(c) {
				continue
			}
			if !held {
				held = true
				continue
			}
			if became, err := d.takeOver(ctx, c); err != nil {
				return err
			} else if became {
				continue
			}
			if err := d.resolve(ctx, c.Item); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

// takeOver decides that an object gets the asset which holds its place, if that has its
// content and its own object is gone: to send it would make a second one beside it. Where
// runs follow what is gone, that is settled by now, and nothing is asked here.
func (d *decider) takeOver(ctx context.Context, c state.Collision) (became bool, err error) {
	if !c.Held || c.Action != state.Create || c.Origin != "" || d.followed[c.Holder] {
		return false, nil
	}
	if d.Rules.FollowsGone() || d.Rules.KeepsDuplicates() || d.Rules.AdoptOnly {
		return false, nil
	}
	r, err := d.Journal.Receipt(ctx, d.run.Pair.ID, c.Holder)
	if err != nil || r.Size != c.Size {
		return false, err
	}
	if gone, err := d.isGone(ctx, r); err != nil || !gone {
		return false, err
	}
	digest, err := inventory.DigestOfObject(ctx, d.Source, c.Item.Object)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || !bytes.Equal(digest, r.Digest) { // sending it tells what is wrong with it
		return false, nil
	}
	asset, left, err := d.asLeft(ctx, r)
	if err != nil || !left {
		return false, err
	}
	holder := state.Item{Object: r.Object, Asset: r.Asset}
	i, err := d.become(ctx, movement{state.Candidate{Item: holder, Gone: true, Digest: r.Digest}, state.Candidate{Item: c.Item}})
	if err != nil || i.Action != state.Move {
		return false, err
	}
	if d.gone > 0 { // it is under another key
		d.gone--
	}
	if err := d.store(ctx, i); err != nil {
		return false, err
	}
	former, err := d.formerly(ctx, i, r, asset, migrate.AsLeft)
	if err != nil {
		return false, err
	}
	return true, d.keepFormer(ctx, []state.Former{former}) // for an undo
}

// asLeft gives the asset of a receipt, if it still is what the receipt says. What people
// deleted, moved or edited does not stand for the content of another object.
func (d *decider) asLeft(ctx context.Context, r state.Receipt) (asset assets.Asset, is bool, err error) {
	all, err := d.lookUp(ctx, []state.Receipt{r})
	found := all[r.Asset]
	if err != nil || found.UnknownErr != nil {
		return asset, false, err
	}
	standing, err := d.standing(ctx, state.Move, r, found)
	return found.Asset, standing == migrate.AsLeft, err
}

// isGone asks the source whether an object that has arrived is not there any more.
func (d *decider) isGone(ctx context.Context, r state.Receipt) (bool, error) {
	content, err := d.Source.Open(ctx, r.Object, 0)
	if err == nil {
		return false, content.Close()
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return errors.Is(err, fs.ErrNotExist), nil
}

func (d *decider) resolve(ctx context.Context, i state.Item) error {
	action, why := migrate.Decide(migrate.Situation{Taken: true}, d.Rules)
	renamed, moved := why == migrate.ReasonRenamed, i.Action == state.Move
	if renamed {
		i.Name = migrate.DistinctName(i.Name, i.Key)
		i.Slot = migrate.Place{Category: i.Category, Folder: i.Folder, Name: i.Name}.Slot()
	}
	if moved && action == state.Create { // it is there already, and goes where it was to go
		action, why = state.Move, migrate.Reason(i.Reason)
	}
	migrate.SetDecision(&i, action, why)
	if renamed && !moved {
		places, err := d.inTheirPlaces(ctx, []state.Item{i}) // under its new name it may be there already
		if err != nil {
			return err
		}
		found, err := d.look(ctx, i, places[0], nil)
		if err != nil {
			return err
		}
		if found.existing != migrate.Nothing {
			d.meets(&i, found)
		}
	}
	return d.store(ctx, i)
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
