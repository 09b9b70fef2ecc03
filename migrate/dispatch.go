package migrate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/state"
)

const (
	recordBatch   = 128 // outcomes in one transaction
	recordEvery   = 100 * time.Millisecond
	recordTimeout = 30 * time.Second // for what must be written even when aborting
)

// A dispatcher hands items to the workers and is the only one that writes their
// fate into the journal, in batches.
type dispatcher struct {
	*Applier
	structure *structure
	work      chan state.Item
	results   chan result
	settled   chan []finding

	queue     []state.Item // taken, not handed out yet
	cursor    string       // the last key taken
	exhausted bool         // nothing is planned after the cursor
	inHand    int          // items that workers have
	doubts    []doubt      // to be looked at
	settling  bool
	told      int // doubts that people were told of when nothing moved
	toldAt    time.Time
	unknown   int            // items in doubt that could not be found out about
	fresh     int            // doubts that arose in this process and are not settled
	sends     map[string]int // how often an item was sent, of those that left no trace

	done    []state.Outcome // to be recorded
	items   []state.Item    // those of done
	release []string        // keys to be given back

	nextDue time.Time // of the items that wait for another attempt; zero if none does
	since   time.Time // since when there is nothing to do but wait for them

	stopping bool
	why      error // of stopping
	row      row   // of failures, see breaker
}

// newDispatcher makes a dispatcher that knows what former processes left behind.
func (a *Applier) newDispatcher(ctx context.Context) (*dispatcher, error) {
	interrupted, err := a.Journal.Interrupted(ctx, a.run.Num)
	if err != nil {
		return nil, err
	}
	s, err := newStructure(ctx, a)
	if err != nil {
		return nil, err
	}
	d := &dispatcher{
		Applier: a, structure: s, exhausted: a.settleOnly, sends: map[string]int{},
		work: make(chan state.Item), results: make(chan result, a.Concurrency), settled: make(chan []finding, 1),
	}
	due := formerEnd(a.FormerAlive).Add(max(a.Settle, a.Answer)) // all of it may have been sent
	for _, i := range interrupted {
		if wasSent(i) {
			d.queue = append(d.queue, i)
		} else {
			d.doubt(i, due.Add(handling(i.Size)), false)
		}
	}
	for i, err := range a.Journal.Items(ctx, a.run.Num, state.ItemSent) {
		if err != nil {
			return nil, err
		}
		d.queue = append(d.queue, i)
	}
	return d, d.findDue(ctx)
}

// dispatch runs until nothing is left to do, or the run has to end early.
func (d *dispatcher) dispatch(ctx context.Context) error {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	stop, aborted := d.Stop, ctx.Done()
	d.look(ctx) // at what a former process left
	for {
		if err := d.refill(ctx); err != nil {
			d.stop(err)
		}
		if d.idle() {
			if err := d.record(ctx); err != nil {
				return errors.Join(d.why, err)
			}
			if d.stopping || !d.stays() {
				return cmp.Or(d.why, d.toldToStop(ctx))
			}
		}
		d.tellDoubts()
		var work chan<- state.Item
		var next state.Item
		if len(d.queue) > 0 && !d.holdsBack() {
			work, next = d.work, d.queue[0]
		}
		var err error
		select {
		case work <- next:
			d.queue = d.queue[1:]
			d.inHand++
		case r := <-d.results:
			d.inHand--
			err = d.take(ctx, r)
		case findings := <-d.settled:
			d.settling = false
			err = d.learn(ctx, findings)
		case <-tick.C:
			err = errors.Join(d.record(ctx), d.wake(ctx))
			d.look(ctx)
		case <-stop:
			stop = nil
			d.stop(ErrStopped)
		case <-aborted:
			aborted = nil
			d.stop(context.Cause(ctx))
		}
		if err != nil {
			d.stop(err)
		}
	}
}

// toldToStop is why the run must not be taken for finished, should it have been told
// to stop just now: what came back then may not have been begun.
func (d *dispatcher) toldToStop(ctx context.Context) error {
	select {
	case <-d.Stop:
		return ErrStopped
	default:
		return context.Cause(ctx)
	}
}

// stop takes no more work. What the workers have is waited for.
func (d *dispatcher) stop(why error) {
	if d.stopping {
		return
	}
	d.stopping, d.why = true, why
	for _, i := range d.queue {
		if i.State == state.ItemSending { // what was sent stays so
			d.release = append(d.release, i.Key)
		}
	}
	d.queue = nil
}

// idle reports whether there is nothing to do at the moment.
func (d *dispatcher) idle() bool {
	if d.inHand > 0 || d.settling || len(d.queue) > 0 {
		return false
	}
	return d.stopping || d.exhausted && len(d.doubts) == 0
}

// refill takes more items from the journal. Few are taken at a time: a crash
// leaves all that are taken in doubt.
func (d *dispatcher) refill(ctx context.Context) error {
	if d.stopping || d.exhausted || len(d.queue) > d.Concurrency/2 {
		return nil
	}
	n := d.batch()
	items, err := d.Journal.Take(ctx, d.run.Num, d.cursor, n, d.Now())
	if err != nil {
		return err
	}
	if len(items) < n {
		d.exhausted = true
	}
	if len(items) > 0 {
		d.cursor = items[len(items)-1].Key
	}
	d.queue = append(d.queue, items...)
	faultpoint.Hit(faultpoint.Taken)
	return nil
}

// batch is how many items are taken at once.
func (d *dispatcher) batch() int { return min(2*d.Concurrency, recordBatch) }

// take deals with the result of a worker.
func (d *dispatcher) take(ctx context.Context, r result) error {
	if r.release {
		d.release = append(d.release, r.item.Key)
		return r.fatal
	}
	r.outcome = d.postpone(r)
	d.add(r.item, r.outcome)
	if r.outcome.State == state.ItemInDoubt {
		r.item.Error = r.outcome.Error
		d.doubt(r.item, time.Now().Add(d.patience(r.answer)+handling(r.item.Size)), true)
	}
	err := cmp.Or(r.fatal, d.breaker(r))
	if len(d.done) >= recordBatch {
		err = errors.Join(err, d.record(ctx))
	}
	return err
}

// patience is how long something may take to become visible after its answer was
// lost: longer if the service said nothing, because then it may still be at work.
func (a *Applier) patience(answered bool) time.Duration {
	if answered {
		return a.Settle
	}
	return max(a.Settle, a.Answer)
}

// handledPerSecond is how many bytes a second a service surely gets done with: it may
// copy and scan what it has got before it answers.
const handledPerSecond = 20 << 20

// handling is how much longer a service may be at work on a large file.
func handling(size int64) time.Duration {
	return time.Duration(size/handledPerSecond) * time.Second
}

func (d *dispatcher) add(i state.Item, o state.Outcome) {
	d.done = append(d.done, o)
	d.items = append(d.items, i)
}

// record writes what has gathered, also while the run is being aborted: an
// outcome that is known must not get lost.
func (d *dispatcher) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return errors.Join(d.recordDone(ctx), d.recordReleased(ctx))
}

func (d *dispatcher) recordDone(ctx context.Context) error {
	if len(d.done) == 0 {
		return nil
	}
	if err := d.mistrust(ctx); err != nil {
		return err
	}
	if err := d.Journal.Record(ctx, d.run.Num, d.run.Pair.ID, d.done); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Recorded)
	for n, o := range d.done {
		switch o.State {
		case state.ItemInDoubt, state.ItemSent:
		case state.ItemWaiting:
			d.await(o.DueAt)
		default:
			d.Watch.Progress(1, 0)
		}
		d.Watch.Item(d.items[n], o)
	}
	d.done, d.items = nil, nil
	return nil
}

// mistrust has the next plan look into the places of items that failed: a service that
// refuses an asset may have made it all the same.
func (d *dispatcher) mistrust(ctx context.Context) error {
	places := map[state.PlaceKey]bool{}
	for n, o := range d.done {
		if i := d.items[n]; o.State == state.ItemFailed && i.Action == state.Create {
			places[state.PlaceKey{Category: d.structure.idOf(i.Category), Path: i.Folder}] = true
		}
	}
	for p := range places {
		if err := d.Journal.ForgetOurs(ctx, d.run.Pair.ID, p.Category, p.Path); err != nil {
			return err
		}
	}
	return nil
}

func (d *dispatcher) recordReleased(ctx context.Context) error {
	if len(d.release) == 0 {
		return nil
	}
	err := d.Journal.Release(ctx, d.run.Num, d.release)
	if err == nil {
		d.release = nil
		faultpoint.Hit(faultpoint.Released)
	}
	return err
}
