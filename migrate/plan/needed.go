package plan

import (
	"context"
	"errors"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// neededContents finds assets whose present content is needed by objects that share them and that
// get no asset of their own.
type neededContents struct {
	*planning
	*decisions
}

// do turns a replacement into a conflict if another object shares the present content and gets no
// asset of its own in this run: the replacement would leave that object without an asset.
func (n *neededContents) do(ctx context.Context) error {
	if replaced, err := n.countPlanned(ctx, state.Replace); err != nil || replaced == 0 {
		return err
	}
	return n.everyItem(ctx, func(ctx context.Context, i *state.Item) (bool, error) {
		if i.Action != state.Replace || i.State != state.ItemPlanned || restores(*i) {
			return false, nil
		}
		by, err := n.neededBy(ctx, migrate.ReplacedKey(*i))
		if err != nil || by == "" {
			return false, err
		}
		migrate.SetDecision(i, state.Conflict, migrate.ReasonAssetNeeded)
		i.Error = migrate.Reason(i.Reason).Text() + ": " + by
		return true, nil
	})
}

// neededBy returns the first object that shares the asset of an owner and keeps sharing it after
// this run, with the reason, or "" if there is none.
func (p *planning) neededBy(ctx context.Context, owner sources.Key) (string, error) {
	for a, err := range p.State.AliasesOf(ctx, p.run.Pair.ID, owner) {
		if err != nil {
			return "", err
		}
		i, err := p.State.Item(ctx, p.run.Num, a.Key)
		switch {
		case errors.Is(err, state.ErrNotFound): // it was joined after the plan was approved
			return string(a.Key), nil
		case err != nil:
			return "", err
		}
		switch i.State {
		case state.ItemSkipped, state.ItemFailed, state.ItemConflict, state.ItemRetriesExhausted, state.ItemChanged:
			return string(a.Key+", ") + migrate.Reason(i.Reason).Text(), nil
		}
	}
	return "", nil
}
