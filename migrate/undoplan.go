package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/state"
)

// An UndoPlanner plans what it takes to take back what a run made: the assets that it
// created, never those that it adopted, and no category or folder. It can read the
// destination and nothing more.
type UndoPlanner struct {
	Deps
	// Content has every asset read back that is to be trashed, and left alone if its
	// content is not what was sent.
	Content     bool
	Concurrency int // how much is asked of the destination at once

	undo, undone state.Run
}

// NewUndoPlanner makes a planner of undos.
func NewUndoPlanner(d Deps) *UndoPlanner {
	return &UndoPlanner{Deps: d.withDefaults(), Concurrency: DefaultConcurrency}
}

// Plan decides about every asset that the undone run made, and stores the decisions. The
// undo must be new, or have been made to forget what was planned.
func (p *UndoPlanner) Plan(ctx context.Context, undo, undone state.Run) (Plan, error) {
	p.undo, p.undone = undo, undone
	made, err := p.stage(ctx)
	if err != nil {
		return Plan{}, err
	}
	p.Watch.Phase(PhaseInventory, made, -1)
	for _, pass := range []func(context.Context) error{p.lookAround, p.askForRest, p.readBack, p.finish} {
		if err := pass(ctx); err != nil {
			return Plan{}, err
		}
	}
	plan := Plan{}
	if plan.Run, err = p.Journal.Run(ctx, undo.ID); err != nil {
		return Plan{}, err
	}
	plan.Tallies, err = p.Journal.Tallies(ctx, undo.Num)
	return plan, err
}

// stage makes items of what the run made, and counts them.
func (p *UndoPlanner) stage(ctx context.Context) (made int64, err error) {
	if err := p.Journal.StageUndo(ctx, p.undo, string(ReasonLater)); err != nil {
		return 0, err
	}
	faultpoint.Hit(faultpoint.Staged)
	tallies, err := p.Journal.Tallies(ctx, p.undo.Num)
	for _, t := range tallies {
		if t.State == state.ItemStaged {
			made += t.Objects
		}
	}
	return made, err
}

// lookAround lists the places of the assets, newest first, back to when the run began:
// so the assets of a pilot are found beside any number of older ones.
func (p *UndoPlanner) lookAround(ctx context.Context) error {
	containers, err := p.Journal.UndoContainers(ctx, p.undo)
	if err != nil {
		return err
	}
	since := p.undone.StartedAt.Add(p.Now().Sub(clock.Now()))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.Concurrency)
	for _, c := range containers {
		g.Go(func() error { return p.lookInto(ctx, container{c.Category, c.Folder}, since) })
	}
	return g.Wait()
}

func (p *UndoPlanner) lookInto(ctx context.Context, c container, since time.Time) error {
	for page, err := range pages(newest(ctx, p.Dest, c, since), stagePage) {
		if err != nil {
			return err
		}
		items, err := p.meet(ctx, page)
		if err != nil {
			return err
		}
		if err := p.decided(ctx, items); err != nil {
			return err
		}
	}
	return nil
}

// meet decides about assets that were listed, as far as the run made them.
func (p *UndoPlanner) meet(ctx context.Context, page []assets.Asset) (decided []state.Item, err error) {
	receipts, err := p.Journal.ReceiptsOf(ctx, p.undo.Pair.ID, idsOf(page))
	if err != nil {
		return nil, err
	}
	shared, err := p.Journal.SharedAssets(ctx, p.undo.Pair, idsOf(page))
	if err != nil {
		return nil, err
	}
	for _, a := range page {
		if r, known := receipts[a.ID]; known && r.Run == p.undone.Num && !r.Adopted {
			i := state.Item{Key: r.Key}
			if err := p.decide(ctx, &i, r, a, shared[a.ID]); err != nil {
				return nil, err
			}
			decided = append(decided, i)
		}
	}
	return decided, nil
}

// decide decides about an asset that is there.
func (p *UndoPlanner) decide(ctx context.Context, i *state.Item, r state.Receipt, asset assets.Asset, shared bool) error {
	said, err := p.saidOf(ctx, r, asset)
	if err != nil {
		return err
	}
	what := changes(r, said, asset)
	writeUndo(i, Remnant{There: true, Shared: shared, Changed: len(what) > 0}, strings.Join(what, ", "))
	return nil
}

// saidOf is what the source said of an object when its asset was described last. It is not
// asked for where nothing describes the asset: that is so for most libraries as a whole,
// and what people took away shows by the time of the change.
func (p *UndoPlanner) saidOf(ctx context.Context, r state.Receipt, asset assets.Asset) (m metadata.Metadata, err error) {
	if asset.Metadata.Description == "" && len(asset.Tags)+len(asset.Metadata.CustomAttributes) == 0 {
		return m, nil
	}
	kept, err := p.Journal.DescribedAs(ctx, p.undo.Pair.ID, r.Key)
	if err != nil {
		return m, err
	}
	return metadata.Decode(kept)
}

// writeUndo puts a decision into an item, with what was found where it is refused.
func writeUndo(i *state.Item, r Remnant, found string) {
	action, why := DecideUndo(r)
	write(i, action, why)
	if action == state.Conflict && found != "" {
		i.Error = fmt.Sprintf("%s: %s", why, found)
	}
}

func (p *UndoPlanner) decided(ctx context.Context, page []state.Item) error {
	if len(page) == 0 {
		return nil
	}
	err := p.Journal.DecideUndo(ctx, p.undo.Num, page)
	faultpoint.Hit(faultpoint.Decided)
	p.Watch.Progress(int64(len(page)), 0)
	return err
}

// askForRest asks for each asset that was not where it was put: it was moved, or it is
// gone.
func (p *UndoPlanner) askForRest(ctx context.Context) error {
	return p.eachPage(ctx, state.ItemStaged, func(ctx context.Context, i *state.Item) (bool, error) {
		asset, err := p.Dest.Asset(ctx, i.Asset)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			writeUndo(i, Remnant{}, "")
			return true, nil
		case isOf(err, retry.Permanent):
			writeUndo(i, Remnant{Untold: true}, err.Error())
			return true, nil
		case err != nil:
			return false, err
		}
		r, err := p.Journal.Receipt(ctx, p.undo.Pair.ID, i.Key)
		if err != nil {
			return false, err
		}
		shared, err := p.Journal.SharedAssets(ctx, p.undo.Pair, []string{asset.ID})
		if err != nil {
			return false, err
		}
		return true, p.decide(ctx, i, r, asset, shared[asset.ID])
	})
}

// readBack compares the content of what is to be trashed with what was sent, if that is
// wanted.
func (p *UndoPlanner) readBack(ctx context.Context) error {
	if !p.Content {
		return nil
	}
	p.Watch.Phase(PhaseCompare, -1, -1)
	return p.eachPage(ctx, state.ItemPlanned, func(ctx context.Context, i *state.Item) (bool, error) {
		r, err := p.Journal.Receipt(ctx, p.undo.Pair.ID, i.Key)
		if err != nil {
			return false, err
		}
		digest, n, err := digestOfAsset(ctx, p.Dest, r.URL)
		switch {
		case isOf(err, retry.Permanent):
			writeUndo(i, Remnant{There: true, Content: Unreadable}, err.Error())
		case err != nil:
			return false, err
		case n != r.Size || !bytes.Equal(digest, r.Digest):
			writeUndo(i, Remnant{There: true, Content: Rewritten}, "content")
		default:
			return false, nil
		}
		return true, nil
	})
}

// eachPage asks f about items in a state, several at once, and stores those that it
// decided about.
func (p *UndoPlanner) eachPage(ctx context.Context, st state.ItemState, f func(context.Context, *state.Item) (decided bool, err error)) error {
	for page, err := range pages(p.Journal.Items(ctx, p.undo.Num, st), stagePage) {
		if err != nil {
			return err
		}
		if err := p.atOnce(ctx, page, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *UndoPlanner) atOnce(ctx context.Context, page []state.Item, f func(context.Context, *state.Item) (bool, error)) error {
	decided := make([]bool, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(p.Concurrency)
	for n := range page {
		g.Go(func() (err error) {
			decided[n], err = f(parallel, &page[n])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var store []state.Item
	for n, i := range page {
		if decided[n] {
			store = append(store, i)
		}
	}
	return p.decided(ctx, store)
}

// finish hashes the plan and closes it.
func (p *UndoPlanner) finish(ctx context.Context) error {
	h, err := NewPlanHash(PlanHead{Source: p.undo.Pair.Source, Destination: p.undo.Pair.Destination})
	if err != nil {
		return err
	}
	for i, err := range p.Journal.Items(ctx, p.undo.Num) {
		if err != nil {
			return err
		}
		h.Add(i)
	}
	err = p.Journal.FinishPlan(ctx, p.undo.Num, h.Sum(), json.RawMessage("[]"))
	faultpoint.Hit(faultpoint.Planned)
	return err
}
