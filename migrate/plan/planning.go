package plan

import (
	"context"
	"slices"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// planning is shared by all passes of a run. Only its overview changes, and what a listing shows of
// waves and of forgotten objects.
type planning struct {
	*Planner
	run       state.Run
	started   time.Time // by which the age of objects is counted
	remapped  bool      // see collect.Collector.IsRemapped
	overview  overview
	waves     migrate.WaveFindings
	forgotten int64             // listed objects that were erased from the state database
	knownSum  *state.ReceiptSum // see sumKnown; nil if it is not known so far
}

// decisions write decided items to the state database, a page at a time.
type decisions struct {
	*planning
	batch []state.Item
}

// everyItem passes the run's items to f and stores those that f decided.
func (d *decisions) everyItem(ctx context.Context, f func(context.Context, *state.Item) (decided bool, err error)) error {
	for i, err := range d.State.Items(ctx, d.run.Num) {
		if err != nil {
			return err
		}
		decided, err := f(ctx, &i)
		if err != nil {
			return err
		}
		if decided {
			if err := d.store(ctx, i); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

// store has an item written with the next batch.
func (d *decisions) store(ctx context.Context, i state.Item) error {
	d.batch = append(d.batch, i)
	if len(d.batch) < migrate.PageSize {
		return nil
	}
	return d.flush(ctx)
}

// flush writes the rest of the last batch.
func (d *decisions) flush(ctx context.Context) error {
	if len(d.batch) == 0 {
		return nil
	}
	d.overview.changed()
	err := d.State.Decided(ctx, d.run.Num, d.batch)
	faultpoint.Hit(faultpoint.Decided)
	d.batch = d.batch[:0]
	return err
}

// addDrift adds items of objects that are unchanged at the source.
func (d *decisions) addDrift(ctx context.Context, items []state.Item) error {
	d.overview.changed()
	return d.State.AddDrift(ctx, d.run.Num, items)
}

// everyPage calls f with each page of the items of the run, and writes the stored changes after
// each page.
func (d *decisions) everyPage(ctx context.Context, f func(context.Context, []state.Item) error) error {
	for page, err := range migrate.Pages(d.State.Items(ctx, d.run.Num), migrate.PageSize) {
		if err == nil {
			err = f(ctx, page)
		}
		if err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

// tallies counts the items of the run by action, reason and state. Unchanged objects are no items.
func (p *planning) tallies(ctx context.Context) ([]state.Tally, error) {
	if p.overview.whole {
		return p.overview.sums.Tallies(), nil
	}
	return p.State.Tallies(ctx, p.run.Num)
}

// countPlanned returns the number of planned items with some actions.
func (p *planning) countPlanned(ctx context.Context, actions ...state.Action) (n int64, err error) {
	tallies, err := p.tallies(ctx)
	for _, t := range tallies {
		if t.State == state.ItemPlanned && slices.Contains(actions, t.Action) {
			n += t.Objects
		}
	}
	return n, err
}

// countOf counts the objects about which a plan decided for a reason.
func countOf(tallies []state.Tally, why migrate.Reason) (n int64) {
	for _, t := range tallies {
		if t.Reason == string(why) {
			n += t.Objects
		}
	}
	return n
}

// isSuccessor reports whether a pass has decided that an item continues an object with another key,
// which has no item any more. Edits of its asset may have changed the action since.
func isSuccessor(i state.Item) bool {
	return i.Action != "" && !i.Joins() && i.PreviousKey != "" && i.PreviousKey != i.Key
}
