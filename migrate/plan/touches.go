package plan

import (
	"context"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// touches are the objects that look changed and have the content they had.
type touches struct {
	*planning
	*decisions
}

// do asks the source what it keeps with objects that look changed and have the
// content they had, and has assets updated of which that is something else: to
// write metadata is to touch an object.
func (t *touches) do(ctx context.Context) error {
	_, catalog := t.Source.(sources.Catalog)
	if t.Rules.Sync == nil || !t.UsesSource(metadata.FromStorage) || !catalog && !t.Source.Traits().Describes {
		return nil
	}
	tallies, err := t.State.Tallies(ctx, t.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonOnlyVersionChanged) == 0 {
		return err
	}
	for page, err := range migrate.Pages(t.State.Items(ctx, t.run.Num, state.ItemSkipped), migrate.PageSize) {
		if err != nil {
			return err
		}
		if err := t.askAbout(ctx, itemsOf(page, migrate.ReasonOnlyVersionChanged)); err != nil {
			return err
		}
	}
	return t.flush(ctx)
}

func (t *touches) askAbout(ctx context.Context, page []state.Item) error {
	otherwise := make([]bool, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(t.Concurrency)
	for n, i := range page {
		g.Go(func() (err error) {
			otherwise[n], err = t.hasChangedMetadata(parallel, i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, i := range page {
		if !otherwise[n] {
			continue
		}
		r, err := t.State.Receipt(ctx, t.run.Pair.ID, i.Key)
		if err != nil {
			return err
		}
		i.Asset = r.Asset
		action, why := migrate.Decide(migrate.Situation{Memory: migrate.MemoryTouched, MetadataRefreshed: true}, t.Rules)
		migrate.SetDecision(&i, action, why)
		if err := t.store(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// hasChangedMetadata reports whether the source keeps something else with an object than when
// its asset was described last. Where it cannot be asked now, it may: it is asked again when
// the asset is described, and what goes wrong then is the item's trouble.
func (t *touches) hasChangedMetadata(ctx context.Context, i state.Item) (bool, error) {
	now, err := t.AddFromSource(ctx, i.Object, collect.Findings{})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case migrate.HasClass(err, retry.Fatal):
		return false, err
	case err != nil, now.Remark != "":
		return true, nil
	}
	last, err := t.LastDescription(ctx, t.run, i.Key)
	if err != nil || len(now.Found[metadata.FromStorage]) == 0 {
		return false, err
	}
	_, kept, err := t.AccountForFields(i.Object, now.Found)
	return kept.EncodeOf(metadata.FromStorage) != last.Found.EncodeOf(metadata.FromStorage), err
}
