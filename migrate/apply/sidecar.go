package apply

import (
	"context"
	"slices"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// recordSidecars stores the sidecars of the plan, before an asset exists that they may describe.
func (a *Applier) recordSidecars(ctx context.Context, plan []state.Tally) error {
	if !slices.ContainsFunc(plan, func(t state.Tally) bool { return t.Reason == string(migrate.ReasonSidecar) }) {
		return nil
	}
	a.Sidecarless = false
	return a.RecordSidecars(ctx, a.run)
}

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
