package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/state"
)

// adoptOnly limits a plan to existing assets, if the rules require that.
type adoptOnly struct {
	*planning
	*decisions
	places *placements
}

// do removes the objects without an existing asset from a plan that only adopts.
func (a *adoptOnly) do(ctx context.Context) error {
	if !a.Rules.AdoptOnly {
		return nil
	}
	if a.places.placer != nil {
		a.places.placer.WantNone()
	}
	return a.everyItem(ctx, func(_ context.Context, i *state.Item) (bool, error) {
		if i.Action != state.Create || i.State == state.ItemDone {
			return false, nil
		}
		action, why := migrate.Decide(migrate.Situation{Looked: true}, a.Rules)
		migrate.SetDecision(i, action, why)
		return true, nil
	})
}
