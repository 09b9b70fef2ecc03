package plan

import (
	"cmp"
	"context"
	"errors"
	"math"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/sorting"
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
	cursor, err := d.State.DriftCursor(ctx, d.run.Pair)
	if err != nil {
		return err
	}
	d.cursor.next = cursor
	known, err := d.sumKnown(ctx)
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
	batch := make([]state.Receipt, 0, min(most, driftBatch))
	for r, err := range d.State.Receipts(ctx, d.run.Pair.ID, after) {
		if err != nil {
			return n, last, err
		}
		if !d.hasKey(r.Key) {
			continue
		}
		batch, last = append(batch, r), r.Key
		if n++; n == most {
			break
		}
		if len(batch) == driftBatch {
			if err := d.driftOf(ctx, batch); err != nil {
				return n, last, err
			}
			batch = batch[:0]
		}
	}
	return n, last, d.driftOf(ctx, batch)
}

// driftBatch is how many assets are compared at once. The more there are, the fewer pages of
// listings show them. It bounds the memory of their receipts.
const driftBatch = 40_000

// driftOf compares assets with their receipts. It decides about those that changed in the order of
// their keys.
func (d *drift) driftOf(ctx context.Context, batch []state.Receipt) error {
	var changed []changedAsset
	err := inventory.EachStatus(ctx, d.Dest, batch, d.Concurrency, func(r state.Receipt, asset inventory.AssetStatus) error {
		d.Watch.Progress(1, 0)
		if asset.UnknownErr != nil { // another run may report
			return nil
		}
		if c := listedCondition(state.Unchanged, r, asset); c != migrate.ConditionUnchanged {
			changed = append(changed, changedAsset{r, asset, c})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.readRevisions(ctx, changed); err != nil {
		return err
	}
	sorting.By(changed, func(a, b changedAsset) int { return cmp.Compare(a.receipt.Key, b.receipt.Key) })
	for _, c := range changed {
		if c.condition == migrate.ConditionUnchanged {
			continue
		}
		if err := d.drifts(ctx, c.receipt, c.condition, c.asset); err != nil {
			return err
		}
	}
	return nil
}

// A changedAsset is an asset that differs from its receipt.
type changedAsset struct {
	receipt   state.Receipt
	asset     inventory.AssetStatus
	condition migrate.Condition
}

// readRevisions sets the conditions that only the revisions of assets show.
func (d *drift) readRevisions(ctx context.Context, changed []changedAsset) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(d.Concurrency)
	for n := range changed {
		c := &changed[n]
		if c.condition != migrate.ConditionUnknown {
			continue
		}
		g.Go(func() (err error) {
			c.condition, err = d.ConditionOf(ctx, c.receipt, c.asset.Asset)
			return err
		})
	}
	return g.Wait()
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
