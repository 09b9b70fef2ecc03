package plan

import (
	"context"
	"errors"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// neededContents are what assets have and others share who get no asset of their own.
type neededContents struct {
	*planning
	*decisions
}

// do leaves assets alone that were to get other content, where a user who shares
// the former one gets no asset of its own in this run: it would have none from then on.
func (n *neededContents) do(ctx context.Context) error {
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

// neededBy gives the first object that shares the asset of an owner and does not part from
// it in this run, with the reason; "" if all do.
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
