package plan

import (
	"context"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// touches are the objects that look changed and have the content they had.
type touches struct {
	*planning
	*decisions
}

// do reads the metadata of objects that look changed but have the same content, and updates that of
// their assets if it changed: writing metadata changes the time of an object.
func (t *touches) do(ctx context.Context) error {
	_, catalog := t.Source.(sources.Catalog)
	if t.Rules.Sync == nil || !t.UsesSource(metadata.FromStorage) || !catalog && !t.Source.Traits().Describes {
		return nil
	}
	tallies, err := t.tallies(ctx)
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
			otherwise[n], err = t.HasChangedAtSource(parallel, t.run, i.Object, i.Key)
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
