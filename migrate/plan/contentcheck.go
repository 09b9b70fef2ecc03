package plan

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/migrate/plan/identical"
	"assetferry/state"
)

// trust returns the memory of an object by its fingerprint. If the rules require checksums, each
// object may have changed.
func (p *Planner) trust(m migrate.Memory) migrate.Memory {
	if p.Rules.Sync != nil && p.Rules.Sync.Checksum {
		return migrate.MemoryPossiblyChanged
	}
	return m
}

// identifiesContent reports whether objects of equal size with this version tag are equal.
func (p *Planner) identifiesContent(tag string) bool {
	return p.Rules.Sync != nil && identical.IsChecksum(p.Source, tag)
}

// isSameContent reports whether the version tags of an object before and now, with the same size,
// show that its content has not changed.
func (p *Planner) isSameContent(tag, was string) bool {
	if p.Rules.Sync == nil || !p.Source.Traits().MetadataTags {
		return tag == was && p.identifiesContent(tag)
	}
	_, content, _ := strings.Cut(tag, " ")
	_, before, _ := strings.Cut(was, " ")
	return content != "" && content == before
}

// contentCheck are the objects that may have changed.
type contentCheck struct {
	*planning
	*decisions
}

// do reads objects whose fingerprint changed, and compares their content with the uploaded one.
func (m *contentCheck) do(ctx context.Context) error {
	if m.Rules.Sync == nil {
		return nil
	}
	tallies, err := m.tallies(ctx)
	if err != nil || countOf(tallies, migrate.ReasonContentMaybeChanged) == 0 {
		return err
	}
	m.Watch.Phase(migrate.PhaseCompare, -1, -1)
	differs, described := m.metadataChanges(ctx, "")
	defer described.Stop()
	for page, err := range migrate.Pages(m.State.Items(ctx, m.run.Num, state.ItemPlanned), migrate.PageSize) {
		if err != nil {
			return err
		}
		if err := m.resolvePage(ctx, itemsOf(page, migrate.ReasonContentMaybeChanged), differs); err != nil {
			return err
		}
	}
	return errors.Join(m.flush(ctx), described.Err())
}

func itemsOf(page []state.Item, why migrate.Reason) (of []state.Item) {
	for _, i := range page {
		if i.Reason == string(why) {
			of = append(of, i)
		}
	}
	return of
}

func (m *contentCheck) resolvePage(ctx context.Context, page []state.Item, differs metadataComparer) error {
	if len(page) == 0 {
		return nil
	}
	receipts, err := m.receiptsOf(ctx, page)
	if err != nil {
		return err
	}
	memory := make([]migrate.Memory, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(m.Concurrency)
	for n, i := range page {
		g.Go(func() error {
			checksum, err := inventory.ChecksumOfObject(parallel, m.Source, i.Object)
			switch {
			case parallel.Err() != nil:
				return context.Cause(parallel)
			case err == nil && bytes.Equal(checksum, receipts[i.Asset].Checksum):
				memory[n] = migrate.MemoryTouched
			default: // the upload reports the error
				memory[n] = migrate.MemoryChanged
			}
			m.Watch.Progress(1, i.Size)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for n, i := range page {
		if err := m.resolveMaybe(ctx, i, memory[n], receipts[i.Asset], differs); err != nil {
			return err
		}
	}
	return nil
}

func (m *contentCheck) resolveMaybe(ctx context.Context, i state.Item, memory migrate.Memory, r state.Receipt, differs metadataComparer) error {
	o := i.Object
	if memory == migrate.MemoryTouched && sameFingerprint(o, r.Object, m.Source.Traits().Precision) {
		memory = migrate.MemorySame // only --checksum did not believe it
	}
	s := migrate.Situation{Memory: memory, MetadataPending: m.lacksMetadata(r)}
	if err := m.checkMetadata(&s, o, r, true, differs); err != nil {
		return err
	}
	var err error
	if s.HistoryInterrupted, err = m.historyInterrupted(ctx, r); err != nil {
		return err
	}
	action, why := migrate.Decide(s, m.Rules)
	migrate.SetDecision(&i, action, why)
	return m.store(ctx, i)
}

// receiptsOf finds the receipts of items with assets, by asset.
func (p *planning) receiptsOf(ctx context.Context, page []state.Item) (map[string]state.Receipt, error) {
	ids := make([]string, len(page))
	for n, i := range page {
		ids[n] = i.Asset
	}
	return p.State.ReceiptsOf(ctx, p.run.Pair.ID, ids)
}
