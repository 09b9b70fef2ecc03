package plan

import (
	"context"
	"errors"
	"math"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// A driftCursor is the key after which the next run continues to compare assets; "" means from the
// beginning.
type driftCursor struct{ next sources.Key }

// A drift finds assets that changed at the destination although their objects did not.
type drift struct {
	*planning
	*decisions
	*decider
	lost     *changedOwners
	followed followedKeys
	cursor   *driftCursor
}

// do compares the next few assets with their receipts. It decides about those that people deleted,
// moved or edited although their objects are unchanged.
func (d *drift) do(ctx context.Context) error {
	if d.Rules.Sync == nil {
		return nil
	}
	cursor, err := d.State.DriftCursor(ctx, d.run.Pair.ID)
	if err != nil {
		return err
	}
	d.cursor.next = cursor
	known, err := d.State.SumReceipts(ctx, d.run.Pair.ID)
	if err != nil {
		return err
	}
	share := d.DriftShare
	if d.Rules.Sync.Repair {
		share = 1
	}
	left := int(math.Ceil(float64(known.Objects) * share))
	if left == 0 || !d.Rules.FollowsDeletions() {
		return nil
	}
	d.Watch.Phase(migrate.PhaseInventory, int64(left), -1)
	n, last, err := d.driftFrom(ctx, cursor, left)
	if err != nil {
		return err
	}
	if d.cursor.next = last; n < left { // the end was reached; all over again
		d.cursor.next = ""
		if more := left - n; cursor != "" {
			if _, d.cursor.next, err = d.driftFrom(ctx, "", more); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

// driftFrom compares at most a number of assets with their receipts, after a key.
func (d *drift) driftFrom(ctx context.Context, after sources.Key, most int) (n int, last sources.Key, err error) {
	var page []state.Receipt
	for r, err := range d.State.Receipts(ctx, d.run.Pair.ID, after) {
		if err != nil {
			return n, last, err
		}
		page, last = append(page, r), r.Key
		if n++; n == most {
			break
		}
		if len(page) == assetCheckPage {
			if err := d.driftPage(ctx, page); err != nil {
				return n, last, err
			}
			page = page[:0]
		}
	}
	return n, last, d.driftPage(ctx, page)
}

func (d *drift) driftPage(ctx context.Context, page []state.Receipt) error {
	seen, err := inventory.LookUp(ctx, d.Dest, page, d.Concurrency)
	if err != nil {
		return err
	}
	for _, r := range page {
		asset := seen[r.Asset]
		d.Watch.Progress(1, 0)
		if asset.UnknownErr != nil { // another run may report
			continue
		}
		condition, err := d.condition(ctx, state.Unchanged, r, asset)
		if err != nil {
			return err
		}
		if condition == migrate.ConditionUnchanged {
			continue
		}
		if err := d.drifts(ctx, r, condition, asset); err != nil {
			return err
		}
	}
	return nil
}

// drifts decides about an unchanged object whose asset changed. If the plan has decided about the
// object, the asset check has handled its asset.
func (d *drift) drifts(ctx context.Context, r state.Receipt, condition migrate.Condition, asset inventory.AssetStatus) error {
	if d.followed[r.Key] {
		return nil
	}
	i, err := d.State.Item(ctx, d.run.Num, r.Key)
	fresh := errors.Is(err, state.ErrNotFound)
	switch {
	case fresh:
		i = state.Item{Object: r.Object}
	case err != nil:
		return err
	case i.Action != state.Unchanged && !isDrift(migrate.Reason(i.Reason)):
		return d.lost.detachFromChanged(ctx, &i, r, asset, condition)
	}
	s := migrate.Situation{Memory: migrate.MemorySame, Condition: condition}
	if err := d.judge(ctx, &i, s, r, state.Item{}); err != nil {
		return err
	}
	switch i.Action {
	case state.Create, state.Move:
		i.PreviousKey = r.Key
	}
	if i.Action != state.Create {
		i.Asset = r.Asset
	}
	recordPlaces(&i, r, asset)
	if fresh {
		if err := d.addDrift(ctx, []state.Item{i}); err != nil {
			return err
		}
	}
	if err := d.store(ctx, i); err != nil {
		return err
	}
	if err := d.lost.detachFromChanged(ctx, &i, r, asset, condition); err != nil || i.State != state.ItemPlanned {
		return err
	}
	if i.Action == state.Create {
		return d.keepDeleted(ctx, i)
	}
	f, err := d.formerly(ctx, i, r, asset.Asset, condition)
	if err != nil {
		return err
	}
	return d.keepFormer(ctx, []state.Former{f})
}

// isDrift reports whether an earlier pass created an item because of a change at the destination.
func isDrift(why migrate.Reason) bool {
	switch why {
	case migrate.ReasonAssetDeleted, migrate.ReasonAssetMoved, migrate.ReasonAssetEdited, migrate.ReasonAssetMovedReverted, migrate.ReasonAssetEditedReverted, migrate.ReasonAssetDeletedCreated:
		return true
	}
	return false
}
