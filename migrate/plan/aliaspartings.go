package plan

import (
	"cmp"
	"context"
	"errors"

	"assetferry/internal/faultpoint"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/migrate/plan/identical"
	"assetferry/sources"
	"assetferry/state"
)

// aliasDetachments finds aliases whose owner changed or was deleted.
type aliasDetachments struct {
	detachment
	successions *successions
}

// do decides again about aliases whose owner changed or was deleted. If the content of the owner
// changed, all its aliases are new objects. If the owner was deleted, the first alias gets its
// asset, which is moved as for any object with another key.
func (a *aliasDetachments) do(ctx context.Context) error {
	if a.Rules.Sync == nil || a.Approval != nil { // in an approved plan they have items
		return nil
	}
	for i, err := range a.State.Items(ctx, a.run.Num) {
		deleted := i.Obstacle == migrate.ObstacleAbsent && a.hasKey(i.Key)
		switch {
		case err != nil:
			return err
		case deleted:
			err = a.succeed(ctx, i)
		case i.Action == state.Replace && i.State == state.ItemPlanned:
			err = a.all(ctx, i.Key)
		}
		if err != nil {
			return err
		}
	}
	return a.end(ctx)
}

// A detachment collects aliases that become new objects or get an asset.
type detachment struct {
	*planning
	*decisions
	*decider
	added []state.Item // that have no item yet
	heirs []state.Item // the aliases that get the asset of their owner, of this and other batches
}

// all parts all aliases from an owner.
func (p *detachment) all(ctx context.Context, owner sources.Key) error {
	for a, err := range p.State.AliasesOf(ctx, p.run.Pair.ID, owner) {
		if err == nil {
			_, _, err = p.detach(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// succeed finds the alias that gets the asset of a deleted owner: the first selected one whose
// content is unchanged since it was joined.
func (p *aliasDetachments) succeed(ctx context.Context, deleted state.Item) error {
	for a, err := range p.State.AliasesOf(ctx, p.run.Pair.ID, deleted.Key) {
		if err != nil {
			return err
		}
		heir, same, err := p.detach(ctx, a)
		if err != nil {
			return err
		}
		if !same || heir.Action != state.Create || heir.State != state.ItemPlanned {
			continue
		}
		r, err := p.State.Receipt(ctx, p.run.Pair.ID, deleted.Key)
		if err != nil {
			return err
		}
		deleted.Asset = r.Asset
		m := identical.Move{Deleted: state.Candidate{Item: deleted, Deleted: true, Checksum: r.Checksum}, New: state.Candidate{Item: heir}}
		if heir, err = p.successions.become(ctx, m); err != nil {
			return err
		}
		p.heirs = append(p.heirs, heir)
		return nil
	}
	return nil
}

// detach returns the item of an alias that becomes a new object, and whether the object is
// unchanged since it was joined. An object that already has an item may have new content.
func (p *detachment) detach(ctx context.Context, a state.Alias) (i state.Item, same bool, err error) {
	i, err = p.State.Item(ctx, p.run.Num, a.Key)
	if err == nil {
		return i, p.trust(migrate.MemorySame) == migrate.MemorySame && sameFingerprint(i.Object, a.Object, p.Source.Traits().Precision), nil
	}
	if !errors.Is(err, state.ErrNotFound) {
		return i, false, err
	}
	i = state.Item{Object: a.Object}
	if err := p.asNew(ctx, &i, state.Item{}, false); err != nil {
		return i, false, err
	}
	if p.added = append(p.added, i); len(p.added) < migrate.PageSize {
		return i, true, nil
	}
	return i, true, p.end(ctx)
}

// end stores the collected changes.
func (p *detachment) end(ctx context.Context) error {
	if len(p.added) > 0 {
		sorting.By(p.added, func(a, b state.Item) int { return cmp.Compare(a.Key, b.Key) }) // of several owners
		if err := p.addDrift(ctx, p.added); err != nil {
			return err
		}
		faultpoint.Hit(faultpoint.Decided)
		p.added = p.added[:0]
	}
	for _, i := range p.heirs {
		if err := p.store(ctx, i); err != nil {
			return err
		}
	}
	p.heirs = p.heirs[:0]
	return p.flush(ctx)
}
