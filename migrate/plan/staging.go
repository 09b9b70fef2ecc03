package plan

import (
	"context"
	"errors"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

const unchangedPage = 10_000 // objects that are only counted, for which alone the disk need not be flushed that often

// A listing is the result of a scan for the passes that decide about the staged objects.
type listing struct {
	decided          bool  // all staged objects were decided during the listing
	judged           int64 // how much of that is decided
	possibleSidecars bool  // a file was listed that may be a sidecar
	claimed          bool  // the run claims every sidecar: those that the state database knows while they are staged
	unrecorded       bool  // some of these are only items
}

// A staging writes listed objects to the state database page by page, with the decisions about them
// if these are known.
//
// A page is written while the next one is listed and decided.
type staging struct {
	*planning
	*decider
	listing *listing
	page    state.Page   // to be staged next
	former  []state.Item // of the page that is being written, to be reused after it
	writing migrate.Background
}

// addIn stages an item, and decides it if its situation is known.
func (g *staging) addIn(ctx context.Context, i state.Item, s migrate.Situation, receipt state.Receipt, approved state.Item) error {
	if g.listing.decided {
		if err := g.judge(ctx, &i, s, receipt, approved); err != nil {
			return err
		}
	}
	return g.add(ctx, i)
}

// add has an item staged.
func (g *staging) add(ctx context.Context, i state.Item) error {
	g.overview.add(&i)
	if g.page.Items = append(g.page.Items, i); len(g.page.Items) < migrate.PageSize {
		return nil
	}
	return g.stage(ctx)
}

// countUnchanged counts an object that matches its receipt.
func (g *staging) countUnchanged(ctx context.Context, r state.Receipt) error {
	if g.Unchanged != nil {
		g.Unchanged(r)
	}
	g.page.UnchangedBytes += r.Size
	if g.page.Unchanged++; g.page.Unchanged < unchangedPage {
		return nil
	}
	return g.stage(ctx)
}

// stage has the page written. It returns the error of the page before.
func (g *staging) stage(ctx context.Context) error {
	if err := g.writing.Wait(); err != nil {
		return err
	}
	if g.listing.decided {
		for _, i := range g.page.Items {
			if i.State != "" { // else it is counted once it is decided
				g.listing.judged++
			}
		}
	}
	page, spare := g.page, g.former
	g.page, g.former = state.Page{Cursor: page.Cursor, Items: spare[:0]}, page.Items
	return g.writing.Start(func() error {
		err := g.State.Stage(ctx, g.run.Num, page)
		faultpoint.Hit(faultpoint.Staged)
		if g.listing.decided {
			faultpoint.Hit(faultpoint.Decided)
		}
		return err
	})
}

// flush has the page written, and waits for it.
func (g *staging) flush(ctx context.Context) error {
	return errors.Join(g.stage(ctx), g.writing.Wait())
}

// decidesAtOnce reports whether objects can be decided during the listing. Then this process must
// list all of them in order: decisions also depend on earlier staged objects and on outcomes of an
// earlier listing, but only after these were decided again.
func (p *planning) decidesAtOnce(ctx context.Context) (bool, error) {
	if p.Approval != nil || p.Rules.FilesFrom != nil || p.Mapping.PlaceNeedsMetadata() {
		return false, nil // the metadata of an object may be listed after it
	}
	for _, err := range p.State.Items(ctx, p.run.Num) {
		return false, err
	}
	return true, nil
}

// reappeared records an unchanged sidecar that the last listing missed. No asset was updated
// without it meanwhile; otherwise the state database would have forgotten it.
func (g *staging) reappeared(c state.Sidecar) {
	if c.Missed != 0 {
		c.Missed = 0
		g.page.Sidecars = append(g.page.Sidecars, c)
	}
}
