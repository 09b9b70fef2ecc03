package undo

import (
	"context"
	"errors"
	"fmt"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// stagedPage is the number of items that are written at once.
const stagedPage = 2000

// A staging writes the items of an undo page by page, with the decisions that the listings allow. A
// page is written while the next one is read.
type staging struct {
	*Planner
	page    []state.Item // to be written next
	former  []state.Item // that is being written, to be reused after it
	writing migrate.Background
}

// stage stores the items of the undo.
func (p *Planner) stage(ctx context.Context) (err error) {
	if err := p.overview.begin(ctx, p.State, p.undo); err != nil {
		return err
	}
	g := &staging{Planner: p}
	defer func() { err = errors.Join(err, g.writing.Wait()) }()
	for c, err := range p.reader.Candidates(ctx) {
		if err != nil {
			return err
		}
		p.decideListed(&c)
		p.overview.add(&c.Item)
		if g.page = append(g.page, c.Item); len(g.page) < stagedPage {
			continue
		}
		if err := g.write(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(g.write(ctx), g.writing.Wait()); err != nil {
		return err
	}
	others, err := p.State.FinishStagingUndo(ctx, p.undo, string(migrate.ReasonChangedByLaterRun))
	if others > 0 {
		p.overview.changed()
	}
	return err
}

// decideListed decides about an asset that the run created, if it was listed. Assets that a later
// run shared are conflicts.
func (p *Planner) decideListed(c *state.UndoCandidate) {
	if c.Shared != "" {
		migrate.SetDecision(&c.Item, state.Conflict, migrate.ReasonSharedByLaterRun)
		c.Error = fmt.Sprintf("%s: %s", migrate.ReasonSharedByLaterRun, c.Shared)
		return
	}
	c.State = state.ItemStaged
	if !c.Created {
		return
	}
	if f, listed := p.created.finding(&c.Listed); listed {
		writeUndo(&c.Item, createdSituation(f.shared, f.changed), f.changed)
	}
}

// write has the page written. It returns the error of the page before.
func (g *staging) write(ctx context.Context) error {
	if err := g.writing.Wait(); err != nil || len(g.page) == 0 {
		return err
	}
	page := g.page
	g.page, g.former = g.former[:0], page
	return g.writing.Start(func() error {
		err := g.State.StageUndo(ctx, g.undo.Num, page)
		faultpoint.Hit(faultpoint.Staged)
		faultpoint.Hit(faultpoint.Decided)
		return err
	})
}

// An overview sums up the items of an undo while they are staged, so that they need not be read
// again. It is used only while it is whole.
type overview struct {
	whole bool // it has all items of the undo, as they are in the state database
	hash  *migrate.PlanHash
	sums  migrate.ItemSums
}

// begin begins the overview. It cannot be whole if the undo was resumed and has items already.
func (v *overview) begin(ctx context.Context, store *state.Store, undo state.Run) error {
	*v = overview{whole: true, hash: migrate.NewPlanHash(), sums: migrate.ItemSums{}}
	for _, err := range store.Items(ctx, undo.Num) {
		v.whole = false
		return err
	}
	return nil
}

func (v *overview) add(i *state.Item) {
	v.hash.Add(i)
	v.sums.Add(i)
}

// changed ends the overview: items change, or there are more.
func (v *overview) changed() { v.whole = false }

// isDecided reports whether no item is left to be decided.
func (v *overview) isDecided() bool { return v.whole && !v.sums.Has(state.ItemStaged) }
