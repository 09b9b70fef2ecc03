package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

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
		return c.Action == state.Adopt || c.State == state.ItemDone || c.State == state.ItemParked
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
			if err := d.resolve(ctx, c.Item); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

func (d *decider) resolve(ctx context.Context, i state.Item) error {
	action, why := Decide(Situation{Taken: true}, d.Rules)
	renamed, moved := why == ReasonRenamed, i.Action == state.Move
	if renamed {
		i.Name = rename(i.Name, i.Key)
		i.Slot = Place{i.Category, i.Folder, i.Name}.slot()
	}
	if moved && action == state.Create { // it is there already, and goes where it was to go
		action, why = state.Move, Reason(i.Reason)
	}
	write(&i, action, why)
	if renamed && !moved {
		places, err := d.inTheirPlaces(ctx, []state.Item{i}) // under its new name it may be there already
		if err != nil {
			return err
		}
		found, err := d.look(ctx, i, places[0], nil)
		if err != nil {
			return err
		}
		if found.existing != Nothing {
			d.meets(&i, found)
		}
	}
	return d.store(ctx, i)
}

// rename tells apart an object whose name is taken. The suffix is made from the
// key alone, so it is the same every night, whatever else is in the folder.
func rename(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	base, extension := splitName(name)
	suffix := "~" + hex.EncodeToString(sum[:3])
	if keep := maxName - len(suffix); len([]rune(base)) > keep {
		base = string([]rune(base)[:keep])
	}
	if extension == "" {
		return base + suffix
	}
	return base + suffix + "." + extension
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
