package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const (
	// holdMost is the maximum number of taken items without a worker. After a crash they are
	// unconfirmed, like those of the workers. With half as many, small objects take 7% more CPU
	// time, because each transaction contains fewer items.
	holdMost      = 384
	recordEvery   = 400 * time.Millisecond
	recordTimeout = 30 * time.Second // for records that are written even when aborting
)

// A commit is one write of the dispatcher: known outcomes, released items, and the intents of newly
// taken items.
//
// It is written while the workers go on with earlier items: waiting for the disk takes as long as
// uploading several items. Outcomes and intents share a transaction, and the faster the run is, the
// more items share it. Otherwise small objects would flush the disk forty times for a thousand of
// them.
type commit struct {
	outcomes []state.Outcome
	items    []state.Item // the items of the outcomes
	next     state.Next
	taken    []state.Item
	goesOn   []state.Item  // items whose outcomes were those of older versions
	written  bool          // all of the above
	release  []sources.Key // keys; none once that is written
	err      error
}

// add has the outcome of an item written.
func (d *dispatcher) add(i state.Item, o state.Outcome) {
	d.ofVersion(i, &o)
	planned := asPlanned(i)
	o.Taken = state.Tally{Action: planned.Action, Reason: planned.Reason, Objects: 1, Bytes: planned.Size}
	d.gathered.outcomes = append(d.gathered.outcomes, o)
	d.gathered.items = append(d.gathered.items, i)
}

// release releases taken items without any upload.
func (d *dispatcher) release(items ...state.Item) {
	for _, i := range items {
		if i.State == state.ItemSending { // an item that was sent keeps its state
			d.gathered.release = append(d.gathered.release, i.Key)
		}
	}
}

func (d *dispatcher) nothingGathered() bool {
	return len(d.gathered.outcomes) == 0 && len(d.gathered.release) == 0
}

// advance writes the gathered outcomes and takes more items, if few are left or an outcome has
// waited long enough.
func (d *dispatcher) advance(ctx context.Context) {
	n, low := d.wanted()
	waited := !d.nothingGathered() && time.Since(d.began) >= recordEvery
	if d.committing || !low && !waited {
		return
	}
	c := d.gather(n)
	d.committing = true
	go func() { d.committed <- d.commit(ctx, c) }()
}

// wanted returns how many items may be taken, and whether workers are about to run out. A run of
// small objects holds as many as finish during a write, and more; one of large objects holds few.
func (d *dispatcher) wanted() (n int, low bool) {
	if d.stopping || d.exhausted {
		return 0, false
	}
	hold := min(3*max(d.Concurrency, len(d.gathered.outcomes)), holdMost)
	return max(0, hold-len(d.queue)), len(d.queue) <= hold/3
}

// gather returns the commit to write, and how many items to take with it.
func (d *dispatcher) gather(n int) commit {
	c := d.gathered
	c.next = state.Next{After: d.cursor, N: n, Time: d.Now(), Of: state.OneByOne}
	d.gathered, d.began = commit{}, time.Now()
	return c
}

// record writes the gathered outcomes. When it returns, no write is in progress.
func (d *dispatcher) record(ctx context.Context) (err error) {
	if d.committing {
		err = d.advanced(<-d.committed)
	}
	if d.nothingGathered() {
		return err
	}
	return errors.Join(err, d.advanced(d.commit(ctx, d.gather(0))))
}

// commit writes, also while the run is being aborted: a known outcome must not get lost.
func (d *dispatcher) commit(ctx context.Context, c commit) commit {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := errors.Join(d.write(ctx, &c), d.writeReleased(ctx, &c)); err != nil {
		c.err = migrate.NewStateError(err)
	}
	return c
}

func (d *dispatcher) write(ctx context.Context, c *commit) (err error) {
	if err := d.recheckPlaces(ctx, c); err != nil {
		return err
	}
	if len(c.outcomes) > 0 || c.next.N > 0 {
		if c.taken, err = d.State.Advance(ctx, d.run.Num, d.run.Pair.ID, c.outcomes, c.next); err != nil {
			return err
		}
	}
	c.written = true
	if len(c.outcomes) > 0 {
		faultpoint.Hit(faultpoint.Recorded)
	}
	if c.next.N > 0 {
		faultpoint.Hit(faultpoint.Taken)
	}
	return d.goOn(ctx, c)
}

// recheckPlaces makes the next plan list the places of failed items: a service that refuses an
// asset may have created it all the same.
func (d *dispatcher) recheckPlaces(ctx context.Context, c *commit) error {
	places := map[state.PlaceKey]bool{}
	for n, o := range c.outcomes {
		if i := c.items[n]; o.State == state.ItemFailed && o.Class != state.ClassRefused && (i.Action == state.Create || i.Action == state.Replace) {
			places[state.PlaceKey{Category: d.structure.idOf(i.Category), Path: i.Folder}] = true
		}
	}
	for p := range places {
		if err := d.State.ForgetOurs(ctx, d.run.Pair.ID, p.Category, p.Path); err != nil {
			return err
		}
	}
	return nil
}

func (d *dispatcher) writeReleased(ctx context.Context, c *commit) error {
	if len(c.release) == 0 {
		return nil
	}
	err := d.State.Release(ctx, d.run.Num, c.release)
	if err == nil {
		c.release = nil
		faultpoint.Hit(faultpoint.Released)
	}
	return err
}

// advanced records what was written. The rest is written by a later commit.
func (d *dispatcher) advanced(c commit) error {
	d.committing = false
	d.gathered.release = append(c.release, d.gathered.release...)
	if !c.written {
		d.gathered.outcomes = append(c.outcomes, d.gathered.outcomes...)
		d.gathered.items = append(c.items, d.gathered.items...)
		return c.err
	}
	d.exhausted = d.exhausted || len(c.taken) < c.next.N
	if len(c.taken) > 0 {
		d.cursor = c.taken[len(c.taken)-1].Key
	}
	if d.stopping {
		d.release(slices.Concat(c.goesOn, c.taken)...)
	} else {
		d.queue = slices.Concat(c.goesOn, d.queue, c.taken) // other assets have an old content meanwhile
		d.ahead(c.taken)
	}
	for n, o := range c.outcomes {
		d.report(c.items[n], o)
	}
	return c.err
}

// report informs the observer about a stored outcome.
func (d *dispatcher) report(i state.Item, o state.Outcome) {
	if o.GoesOn() {
		return
	}
	i = asPlanned(i)
	switch o.State {
	case state.ItemUnconfirmed, state.ItemSent:
	case state.ItemRetryScheduled:
		d.await(o.RetryAt)
	default:
		d.Watch.Progress(1, 0)
	}
	d.Watch.Item(i, o)
}
