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

// askTouched asks the source what it keeps with objects that look changed and have the
// content they had, and has assets described anew of which that is something else: to
// write metadata is to touch an object.
func (d *decider) askTouched(ctx context.Context) error {
	_, catalog := d.Source.(sources.Catalog)
	if d.Rules.Sync == nil || !d.Looks(metadata.FromSource) || !catalog && !d.Source.Traits().Describes {
		return nil
	}
	tallies, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonSeeming) == 0 {
		return err
	}
	for page, err := range migrate.Pages(d.Journal.Items(ctx, d.run.Num, state.ItemSkipped), migrate.PageSize) {
		if err != nil {
			return err
		}
		if err := d.askAbout(ctx, itemsOf(page, migrate.ReasonSeeming)); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

func (d *decider) askAbout(ctx context.Context, page []state.Item) error {
	otherwise := make([]bool, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(d.Concurrency)
	for n, i := range page {
		g.Go(func() (err error) {
			otherwise[n], err = d.isKeptOtherwise(parallel, i)
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
		r, err := d.Journal.Receipt(ctx, d.run.Pair.ID, i.Key)
		if err != nil {
			return err
		}
		i.Asset = r.Asset
		action, why := migrate.Decide(migrate.Situation{Memory: migrate.Seeming, Redescribed: true}, d.Rules)
		migrate.SetDecision(&i, action, why)
		if err := d.store(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// isKeptOtherwise reports whether the source keeps something else with an object than when
// its asset was described last. Where it cannot be asked now, it may: it is asked again when
// the asset is described, and what goes wrong then is the item's trouble.
func (d *decider) isKeptOtherwise(ctx context.Context, i state.Item) (bool, error) {
	now, err := d.AskSource(ctx, i.Object, collect.Metadata{})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case migrate.HasClass(err, retry.Fatal):
		return false, err
	case err != nil, now.Remark != "":
		return true, nil
	}
	last, err := d.SaidLast(ctx, d.run, i.Key)
	if err != nil || len(now.Found[metadata.FromSource]) == 0 {
		return false, err
	}
	_, kept, err := d.Account(i.Object, now.Found)
	return kept.EncodeOf(metadata.FromSource) != last.Found.EncodeOf(metadata.FromSource), err
}
