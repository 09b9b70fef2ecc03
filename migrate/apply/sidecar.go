package apply

import (
	"context"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// leaveSidecars leaves the sidecars of assets that this run did not update to a later run.
func (a *Applier) leaveSidecars(ctx context.Context) error {
	if !a.FollowsSidecars() || a.Sidecarless {
		return nil
	}
	undone := a.State.Items(ctx, a.run.Num, state.ItemFailed, state.ItemChanged, state.ItemConflict, state.ItemRetriesExhausted)
	for page, err := range migrate.Pages(undone, migrate.PageSize) {
		if err != nil {
			return err
		}
		var keys []string
		var left []sources.Key
		for _, i := range page {
			if i.Asset != "" {
				keys = append(keys, metadata.SidecarsOf(string(i.Key))...)
			}
		}
		all, err := a.State.SidecarsAmong(ctx, a.run.Pair.ID, keys)
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.Claimed == a.run.Num {
				left = append(left, c.Key)
			}
		}
		if err := a.State.ClaimSidecars(ctx, a.run.Pair.ID, 0, left); err != nil {
			return err
		}
	}
	return nil
}
