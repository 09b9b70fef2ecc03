package plan

import (
	"bytes"
	"context"
	"encoding/hex"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// trust is what is known of an object by cheap signs that speak for its being the same,
// unless they are not to be believed.
func (p *Planner) trust(m migrate.Memory) migrate.Memory {
	if p.Rules.Sync != nil && p.Rules.Sync.Checksum {
		return migrate.Maybe
	}
	return m
}

// provesContent reports whether objects of equal size with this version tag are equal.
func (p *Planner) provesContent(tag string) bool {
	return p.Rules.Sync != nil && p.isDigest(tag)
}

// isDigest reports whether a version tag is made of the content alone.
func (p *Planner) isDigest(tag string) bool {
	if !p.Source.Traits().ContentTags || len(tag) != 32 {
		return false
	}
	_, err := hex.DecodeString(tag)
	return err == nil
}

// settleMaybes reads what may have changed, by all that its fingerprint says, and compares
// it with what was sent.
func (d *decider) settleMaybes(ctx context.Context) error {
	if d.Rules.Sync == nil {
		return nil
	}
	tallies, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || countOf(tallies, migrate.ReasonMaybe) == 0 {
		return err
	}
	d.Watch.Phase(migrate.PhaseCompare, -1, -1)
	anew, stop := d.redescriptions(ctx, "")
	defer stop()
	d.redescribed = anew
	for page, err := range migrate.Pages(d.Journal.Items(ctx, d.run.Num, state.ItemPlanned), migrate.PageSize) {
		if err != nil {
			return err
		}
		if err := d.settlePage(ctx, itemsOf(page, migrate.ReasonMaybe)); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

func itemsOf(page []state.Item, why migrate.Reason) (of []state.Item) {
	for _, i := range page {
		if i.Reason == string(why) {
			of = append(of, i)
		}
	}
	return of
}

func (d *decider) settlePage(ctx context.Context, page []state.Item) error {
	if len(page) == 0 {
		return nil
	}
	receipts, err := d.receiptsOf(ctx, page)
	if err != nil {
		return err
	}
	memory := make([]migrate.Memory, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(d.Concurrency)
	for n, i := range page {
		g.Go(func() error {
			digest, err := inventory.DigestOfObject(parallel, d.Source, i.Object)
			switch {
			case parallel.Err() != nil:
				return context.Cause(parallel)
			case err == nil && bytes.Equal(digest, receipts[i.Asset].Digest):
				memory[n] = migrate.Seeming
			default: // what is wrong with it, if anything, is told when it is sent
				memory[n] = migrate.Changed
			}
			d.Watch.Progress(1, i.Size)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, i := range page {
		if err := d.settleMaybe(ctx, i, memory[n], receipts[i.Asset]); err != nil {
			return err
		}
	}
	return nil
}

func (d *decider) settleMaybe(ctx context.Context, i state.Item, m migrate.Memory, r state.Receipt) error {
	o := i.Object
	if m == migrate.Seeming && sameFingerprint(o, r.Object, d.Source.Traits().Precision) {
		m = migrate.Same // only --checksum did not believe it
	}
	s := migrate.Situation{Memory: m, Undescribed: d.lacksDescription(r)}
	if err := d.redescribe(&s, o, r, true); err != nil {
		return err
	}
	action, why := migrate.Decide(s, d.Rules)
	migrate.SetDecision(&i, action, why)
	return d.store(ctx, i)
}

// receiptsOf finds the receipts of items with assets, by asset.
func (d *decider) receiptsOf(ctx context.Context, page []state.Item) (map[string]state.Receipt, error) {
	ids := make([]string, len(page))
	for n, i := range page {
		ids[n] = i.Asset
	}
	return d.Journal.ReceiptsOf(ctx, d.run.Pair.ID, ids)
}
