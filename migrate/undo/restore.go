package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// restoreMethod restores the previous state of assets: trashed ones are restored and moved ones
// moved back, with one request per batch and container. Content and metadata are restored one by
// one.
type restoreMethod struct {
	*collect.Collector
	write       Reverter
	undo        state.Run
	of          state.Kind
	concurrency int
	stop        <-chan struct{}
}

func (g restoreMethod) Kind() state.Kind { return g.of }

// A restoration is an asset on its way back.
type restoration struct {
	state.Undoing
	collect.AssetHistory
	asset      assets.Asset // as the service last returned it
	current    bool         // it was not changed since then
	edited     bool         // by people, which is not to pass for ours
	done       bool         // it is as it was before
	refusal    error        // why it does not get any further
	incomplete error        // error that leaves both assets in the trash for now
}

// Ask restores the assets of a batch. Work that has begun is finished even if the undo is asked to
// stop, so that no asset is restored in part.
func (g restoreMethod) Ask(ctx context.Context, batch []state.Item) (outcomes []state.Outcome, cause error) {
	all, err := g.loadBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	if err := g.restore(ctx, all); err != nil {
		return nil, err
	}
	if err := g.each(ctx, all, g.meet); err != nil && slices.ContainsFunc(all, (*restoration).wasTrashed) {
		return nil, apply.Begun(err)
	} else if err != nil {
		return nil, err
	}
	if err := g.move(ctx, all); err != nil {
		return nil, apply.Begun(err)
	}
	cause = apply.Begun(g.each(ctx, all, g.complete))
	for _, c := range all {
		if o := c.outcome(); o.State != "" {
			outcomes = append(outcomes, o)
		}
	}
	return outcomes, cause
}

// loadBatch reads the records of a batch.
func (g restoreMethod) loadBatch(ctx context.Context, batch []state.Item) ([]*restoration, error) {
	undoings, err := g.State.Undoings(ctx, g.undo, apply.ItemKeys(batch))
	if err != nil {
		return nil, migrate.NewStateError(err)
	}
	ids := make([]string, len(batch))
	for n, i := range batch {
		ids[n] = i.Asset
	}
	receipts, err := g.State.ReceiptsOf(ctx, g.undo.Pair.ID, ids)
	if err != nil {
		return nil, migrate.NewStateError(err)
	}
	all := make([]*restoration, len(batch))
	for n, i := range batch {
		c := &restoration{Undoing: undoings[i.Key]}
		if c.Before == nil {
			return nil, migrate.NewStateError(fmt.Errorf("the previous state of %s is not stored", i.Key))
		}
		now, known := receipts[i.Asset]
		if !known { // it is in the trash
			now = *c.Before
		}
		if c.AssetHistory, err = collect.NewAssetHistory(g.undo.Pair.Source, c.Undoing, now); err != nil {
			return nil, migrate.NewStateError(err)
		}
		all[n] = c
	}
	return all, nil
}

// each calls f for the assets without a refusal, several at once. A permanent error about one of
// them becomes its refusal. It returns a fatal error, or else the first one, when all are finished.
func (g restoreMethod) each(ctx context.Context, all []*restoration, f func(context.Context, *restoration) error) error {
	errs := make([]error, len(all))
	var parallel errgroup.Group
	parallel.SetLimit(g.concurrency)
	for n, c := range all {
		if c.refusal != nil {
			continue
		}
		parallel.Go(func() error {
			err := f(ctx, c)
			if migrate.HasClass(err, retry.Permanent) {
				c.refusal, err = err, nil
			}
			errs[n] = err
			return nil
		})
	}
	_ = parallel.Wait() // each has its own error
	return worst(errs)
}

// worst returns the first fatal error, or else the first one, nil if there is none.
func worst(errs []error) error {
	for _, err := range errs {
		if migrate.HasClass(err, retry.Fatal) {
			return err
		}
	}
	return cmp.Or(errs...)
}

// restore restores assets from the trash. A missing one may be restored already.
func (g restoreMethod) restore(ctx context.Context, all []*restoration) error {
	var restorations []assets.Restoration
	for _, c := range all {
		if c.wasTrashed() {
			restorations = append(restorations, assets.Restoration{AssetID: c.Undoing.Asset})
		}
	}
	if len(restorations) == 0 {
		return nil
	}
	refused, err := apply.Refusals(g.write.Restore(retry.WithDrain(ctx, g.stop), restorations...))
	if err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Sent)
	for _, c := range all {
		refusal := refused.Refusal(c.Undoing.Asset)
		if refusal != nil && !errors.Is(refusal, fs.ErrNotExist) {
			c.refusal = fmt.Errorf("it stays in the trash: %w", refusal)
		}
	}
	return nil
}

func (c *restoration) wasTrashed() bool { return c.Was == state.Trash }

// meet reads an asset once more before anything is changed.
func (g restoreMethod) meet(ctx context.Context, c *restoration) (err error) {
	c.asset, err = g.Dest.Asset(ctx, c.Undoing.Asset)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Was == state.Trash:
		return errEmptied
	case errors.Is(err, fs.ErrNotExist) && c.IsSwapped():
		return nil // trashed by an earlier try
	case errors.Is(err, fs.ErrNotExist):
		return &apply.DeletedError{Asset: c.Undoing.Asset}
	case err != nil:
		return err
	}
	c.current = true
	if what := c.ChangedSince(c.asset); len(what) > 0 && c.Was != state.Trash {
		return fmt.Errorf("%w: %s", collect.ErrTouched, strings.Join(what, ", "))
	}
	return g.findEdit(ctx, c)
}

// move moves assets to their previous places, with one request for all that were in one place. A
// refused asset is tried again under its previous name.
func (g restoreMethod) move(ctx context.Context, all []*restoration) error {
	bound := map[migrate.Container][]*restoration{}
	for _, c := range all {
		if c.Was == state.Move && c.refusal == nil && c.at() != c.FormerPlace() {
			bound[c.FormerPlace()] = append(bound[c.FormerPlace()], c)
		}
	}
	for to, some := range bound {
		if err := g.moveTo(ctx, to, some); err != nil {
			return err
		}
		for _, c := range some {
			if c.refusal == nil || !c.IsRenamed(c.asset) {
				continue
			}
			if err := g.renameAndMove(ctx, to, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *restoration) at() migrate.Container {
	return migrate.Container{Category: c.asset.CategoryID, Folder: c.asset.FolderID}
}

func (g restoreMethod) moveTo(ctx context.Context, to migrate.Container, all []*restoration) error {
	transfers := make([]assets.Transfer, len(all))
	for n, c := range all {
		transfers[n].AssetID = c.Undoing.Asset
	}
	refused, err := apply.Refusals(g.write.Move(ctx, assets.Target{CategoryID: to.Category, FolderID: to.Folder}, transfers...))
	if err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Sent)
	for _, c := range all {
		if refusal := refused.Refusal(c.Undoing.Asset); refusal != nil {
			c.refusal = fmt.Errorf("it is not moved back, because another asset there may have its name: %w", refusal)
			continue
		}
		c.asset.CategoryID, c.asset.FolderID, c.current = to.Category, to.Folder, false
	}
	return nil
}

// renameAndMove gives an asset its previous name before it is moved, and restores its current name
// if that did not help.
func (g restoreMethod) renameAndMove(ctx context.Context, to migrate.Container, c *restoration) error {
	name, extension := c.asset.Name, c.asset.Extension
	if err := g.update(ctx, c, assets.Changes{Name: &c.Previous.Name, Extension: &c.Previous.Extension}); migrate.HasClass(err, retry.Permanent) {
		return nil // that it was refused before stands
	} else if err != nil {
		return err
	}
	c.refusal = nil
	if err := g.moveTo(ctx, to, []*restoration{c}); err != nil || c.refusal == nil {
		return err
	}
	return g.update(ctx, c, assets.Changes{Name: &name, Extension: &extension})
}

func (g restoreMethod) update(ctx context.Context, c *restoration, changes assets.Changes) error {
	asset, err := g.write.Update(ctx, c.Undoing.Asset, changes)
	if err == nil {
		c.asset, c.current = asset, true
	}
	return err
}

// complete restores the content and metadata of a restored asset, and reads its modification time.
// It is idempotent.
func (g restoreMethod) complete(ctx context.Context, c *restoration) error {
	switch {
	case c.Was == state.Replace && c.IsSwapped():
		return g.swap(ctx, c)
	case c.Was == state.Replace:
		if err := g.replace(ctx, c); err != nil {
			return err
		}
	}
	if changes, _ := c.RestoringChanges(c.asset); c.Was != state.Trash && !collect.IsNoChange(changes) {
		if err := g.update(ctx, c, changes); err != nil {
			return err
		}
		faultpoint.Hit(faultpoint.Described)
	}
	if c.current {
		c.done = true
		return nil
	}
	asset, err := g.Dest.Asset(ctx, c.Undoing.Asset)
	if err == nil {
		c.asset, c.current, c.done = asset, true, true
	}
	return err
}

// replace makes the revision with the previous content the current one.
func (g restoreMethod) replace(ctx context.Context, c *restoration) error {
	revision, err := formerRevision(ctx, g.Dest, c.AssetHistory, c.asset)
	if err != nil || revision == "" {
		return err
	}
	if err := g.write.UseRevision(ctx, c.Undoing.Asset, revision); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Sent)
	c.current = false
	return nil
}

// outcome returns the outcome of an item; without a state if it is unknown.
func (c *restoration) outcome() state.Outcome {
	switch {
	case c.refusal != nil:
		return apply.Failure(c.Item, c.refusal)
	case c.incomplete != nil:
		return state.Outcome{Key: c.Key, State: state.ItemUnconfirmed, Class: string(retry.Transient), Error: c.incomplete.Error()}
	case !c.done:
		return state.Outcome{}
	}
	o := state.Outcome{Key: c.Key, State: state.ItemDone, Undone: true}
	if !c.edited {
		o.Modified = c.asset.LastModifiedAt
	}
	if _, stays := c.RestoringChanges(c.asset); len(stays) > 0 && c.Was != state.Trash {
		o.Error = migrate.RemarkEditsKept + ": " + strings.Join(stays, ", ")
	}
	return o
}

// Look finds out whether an asset is as it was before.
func (g restoreMethod) Look(ctx context.Context, i state.Item) (o state.Outcome, err error) {
	all, err := g.loadBatch(ctx, []state.Item{i})
	if err != nil {
		return o, err
	}
	c := all[0]
	c.asset, err = g.Dest.Asset(ctx, i.Asset)
	if errors.Is(err, fs.ErrNotExist) && c.IsSwapped() {
		return g.lookAtSwapped(ctx, c)
	} else if errors.Is(err, fs.ErrNotExist) {
		return o, nil // the error shows when it is tried again
	} else if err != nil {
		return o, err
	}
	if err := g.findEdit(ctx, c); err != nil {
		return o, err
	}
	if c.done, err = g.isDone(ctx, c); err != nil || !c.done {
		return o, err
	}
	return c.outcome(), nil
}

func (g restoreMethod) isDone(ctx context.Context, c *restoration) (bool, error) {
	if c.Was == state.Trash {
		return true, nil
	}
	if c.Was == state.Replace && c.IsSwapped() {
		return false, nil
	}
	if changes, _ := c.RestoringChanges(c.asset); !collect.IsNoChange(changes) || c.Was == state.Move && c.at() != c.FormerPlace() {
		return false, nil
	}
	if c.Was != state.Replace {
		return true, nil
	}
	back, err := collect.HasFormerContent(ctx, g.Dest, c.AssetHistory, c.asset)
	if errors.Is(err, collect.ErrTouched) {
		return false, nil
	}
	return back, err
}
