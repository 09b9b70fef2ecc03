package migrate

import (
	"context"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/state"
)

// askTouched asks the source what it keeps with objects that look changed and have the
// content they had, and has assets described anew of which that is something else: to
// write metadata is to touch an object.
func (d *decider) askTouched(ctx context.Context) error {
	_, catalog := d.Source.(sources.Catalog)
	if d.Rules.Sync == nil || !d.looks(metadata.FromSource) || !catalog && !d.Source.Traits().Describes {
		return nil
	}
	tallies, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || countOf(tallies, ReasonSeeming) == 0 {
		return err
	}
	for page, err := range pages(d.Journal.Items(ctx, d.run.Num, state.ItemSkipped), stagePage) {
		if err != nil {
			return err
		}
		if err := d.askAbout(ctx, itemsOf(page, ReasonSeeming)); err != nil {
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
		action, why := Decide(Situation{Memory: Seeming, Redescribed: true}, d.Rules)
		write(&i, action, why)
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
	now, err := d.askSource(ctx, i.Object, gathering{})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case isOf(err, retry.Fatal):
		return false, err
	case err != nil, now.remark != "":
		return true, nil
	}
	last, err := d.saidLast(ctx, d.run, i.Key)
	if err != nil || len(now.found[metadata.FromSource]) == 0 {
		return false, err
	}
	_, kept, err := d.account(i.Object, now.found)
	return kept.EncodeOf(metadata.FromSource) != last.found.EncodeOf(metadata.FromSource), err
}
