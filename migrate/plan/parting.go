package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// aliasPartings are aliases whose owner does not stay what it was.
type aliasPartings struct {
	parting
	successions *successions
}

// do decides anew about aliases whose owner does not stay what it was. Where its
// content changed they have that no more, and all of them are new objects. Where it is gone,
// the first of them gets its asset, which is moved as for any object that has another key.
func (a *aliasPartings) do(ctx context.Context) error {
	if a.Rules.Sync == nil || a.Approval != nil { // in an approved plan they have items
		return nil
	}
	for i, err := range a.Journal.Items(ctx, a.run.Num) {
		gone := i.Obstacle == migrate.ObstacleAbsent
		switch {
		case err != nil:
			return err
		case gone:
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

// neededContents are what assets have and others share who get no asset of their own.
type neededContents struct {
	*planning
	*decisions
}

// do leaves assets alone that were to get other content, where somebody who shares
// the former one gets no asset of its own in this run: it would have none from then on.
func (n *neededContents) do(ctx context.Context) error {
	return n.everyItem(ctx, func(ctx context.Context, i *state.Item) (bool, error) {
		if i.Action != state.Replace || i.State != state.ItemPlanned || restores(*i) {
			return false, nil
		}
		by, err := n.neededBy(ctx, migrate.InsteadOf(*i))
		if err != nil || by == "" {
			return false, err
		}
		migrate.SetDecision(i, state.Conflict, migrate.ReasonNeeded)
		i.Error = i.Reason + ": " + by
		return true, nil
	})
}

// neededBy gives the first object that shares the asset of an owner and does not part from
// it in this run, with the reason; "" if all do.
func (p *planning) neededBy(ctx context.Context, owner sources.Key) (string, error) {
	for a, err := range p.Journal.AliasesOf(ctx, p.run.Pair.ID, owner) {
		if err != nil {
			return "", err
		}
		i, err := p.Journal.Item(ctx, p.run.Num, a.Key)
		switch {
		case errors.Is(err, state.ErrNotFound): // it was joined after the plan was approved
			return string(a.Key), nil
		case err != nil:
			return "", err
		}
		switch i.State {
		case state.ItemSkipped, state.ItemFailed, state.ItemConflict, state.ItemParked, state.ItemChanged:
			return string(a.Key+", ") + i.Reason, nil
		}
	}
	return "", nil
}

// lostAssets part objects from assets that have not what they share any more.
type lostAssets struct {
	*planning
	*decisions
	*decider
	owners lostOwners
}

// partFromLost parts from an asset those who share it, if it does not have what they share any
// more, or not where they would have it, and the plan does not see to that. People who deleted
// or edited it knew of one object. That they made something of it is told of the owner, whose
// item may be that of an heir.
func (l *lostAssets) partFromLost(ctx context.Context, i *state.Item, r state.Receipt, asset inventory.Found, standing migrate.Standing) error {
	if asset.UnknownErr != nil || !isLostTo(r, asset, standing) || restores(*i) {
		return nil
	}
	err := l.partAllFrom(ctx, r.Key, i)
	if i.Action == state.Move { // on which goes what people made of it
		l.owners[i.Key] = &loss{}
	}
	return err
}

// isLostTo reports whether those who share the asset of a receipt have not what they share.
func isLostTo(r state.Receipt, asset inventory.Found, standing migrate.Standing) bool {
	return !asset.There || standing == migrate.EditedThere || asset.CategoryID != r.Category
}

// restores reports whether an item makes its asset again what it was.
func restores(i state.Item) bool {
	if i.State != state.ItemPlanned {
		return false
	}
	switch migrate.Reason(i.Reason) {
	case migrate.ReasonRepair, migrate.ReasonRestored, migrate.ReasonBack:
		return true
	}
	return false
}

// partAllFrom makes new objects of all aliases of an owner, and has the state database forget that
// they ever shared its asset: whatever becomes of them in this run, the next one must not take
// them for what has arrived. One of them may be an heir, whose item is given.
func (l *lostAssets) partAllFrom(ctx context.Context, owner sources.Key, heir *state.Item) error {
	p, some := parting{planning: l.planning, decisions: l.decisions, decider: l.decider}, false
	for a, err := range l.Journal.AliasesOf(ctx, l.run.Pair.ID, owner) {
		if err != nil {
			return err
		}
		some = true
		if a.Key != heir.Key {
			_, _, err = p.part(ctx, a)
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
	return l.Journal.ForgetAliasesOf(ctx, l.run.Pair.ID, owner)
}

// A parting collects aliases that become something else.
type parting struct {
	*planning
	*decisions
	*decider
	added []state.Item // that have no item yet
	heirs []state.Item // of these and others, those that get the asset of their owner
}

// all parts all aliases from an owner.
func (p *parting) all(ctx context.Context, owner sources.Key) error {
	for a, err := range p.Journal.AliasesOf(ctx, p.run.Pair.ID, owner) {
		if err == nil {
			_, _, err = p.part(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// succeed finds the alias that gets the asset of an owner which is gone: the first that is
// to be taken, and is what it was when it was joined.
func (p *aliasPartings) succeed(ctx context.Context, gone state.Item) error {
	for a, err := range p.Journal.AliasesOf(ctx, p.run.Pair.ID, gone.Key) {
		if err != nil {
			return err
		}
		heir, same, err := p.part(ctx, a)
		if err != nil {
			return err
		}
		if !same || heir.Action != state.Create || heir.State != state.ItemPlanned {
			continue
		}
		r, err := p.Journal.Receipt(ctx, p.run.Pair.ID, gone.Key)
		if err != nil {
			return err
		}
		gone.Asset = r.Asset
		m := movement{gone: state.Candidate{Item: gone, Gone: true, Digest: r.Digest}, new: state.Candidate{Item: heir}}
		if heir, err = p.successions.become(ctx, m); err != nil {
			return err
		}
		p.heirs = append(p.heirs, heir)
		return nil
	}
	return nil
}

// part gives the item of an alias that is a new object, and whether its object is the same as
// when it was joined: one that has an item already may have got another content.
func (p *parting) part(ctx context.Context, a state.Alias) (i state.Item, same bool, err error) {
	i, err = p.Journal.Item(ctx, p.run.Num, a.Key)
	if err == nil {
		return i, p.trust(migrate.Same) == migrate.Same && sameFingerprint(i.Object, a.Object, p.Source.Traits().Precision), nil
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

// end stores what was collected.
func (p *parting) end(ctx context.Context) error {
	if len(p.added) > 0 {
		slices.SortFunc(p.added, func(a, b state.Item) int { return cmp.Compare(a.Key, b.Key) }) // of several owners
		if err := p.Journal.AddDrift(ctx, p.run.Num, p.added); err != nil {
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

// asNew decides about an object as if nothing of it had ever arrived. An approved plan may
// have an item of it.
func (d *decider) asNew(ctx context.Context, i *state.Item, approved state.Item, isApproved bool) (err error) {
	if d.Mapping.PlaceNeedsMetadata() {
		unknown := state.Item{Object: i.Object}
		unknown.State = state.ItemStaged
		if d.ahead, err = d.lookAhead(ctx, []state.Item{unknown}); err != nil {
			return err
		}
		defer func() { d.ahead = nil }()
	}
	i.Origin = ""
	return d.judge(ctx, i, d.situation(i.Object, migrate.Unknown, state.Receipt{}, approved, isApproved), state.Receipt{}, state.Item{})
}
