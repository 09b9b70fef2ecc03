package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/state"
)

// adoptOnly keeps to what is at the destination, where rules want that.
type adoptOnly struct {
	*planning
	*decisions
	places *placements
}

// do takes out of a plan that only adopts what was not found at the
// destination.
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
