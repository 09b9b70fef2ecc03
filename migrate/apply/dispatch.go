package apply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// lookEvery is how often the dispatcher checks whether an item is due.
const lookEvery = 100 * time.Millisecond

// A dispatcher hands items to the workers and is the only one that writes their
// fate into the state database, in batches; see commit.
type dispatcher struct {
	*Applier
	structure *structure
	work      chan state.Item
	results   chan result              // without a buffer: no worker takes more before its result, which may end the run, is known
	ahead     func(taken []state.Item) // makes the places of items in the background
	confirmed chan []finding
	committed chan commit

	queue         []state.Item // taken, and not yet given to a worker
	cursor        sources.Key  // the last key taken
	exhausted     bool         // no planned items are left after the cursor
	inHand        int          // items that workers have
	inHandOf      namesakes    // these
	unconfirmed   []pending    // to be looked at
	unconfirmedOf namesakes    // these, and those that are being looked at
	resolving     bool
	reported      int // unconfirmed items in the last report during a standstill
	reportedAt    time.Time
	unknown       int                 // unconfirmed items that could not be found out about
	fresh         int                 // unconfirmed items that arose in this process and are not resolved
	sends         map[sources.Key]int // how often an item was sent without a result

	gathered   commit    // for the next write
	committing bool      // a commit is being written
	began      time.Time // when that was begun last

	nextDue time.Time // of the items scheduled for retry for another attempt; zero if none does
	since   time.Time // the time since which all other work is finished

	stopping bool
	why      error         // of stopping
	streak   failureStreak // of failures, see breaker
}

// newDispatcher returns a dispatcher with the items that earlier processes left.
func (a *Applier) newDispatcher(ctx context.Context, s *structure, interrupted []state.Item) (*dispatcher, error) {
	d := &dispatcher{
		Applier: a, structure: s, exhausted: a.confirmOnly, sends: map[sources.Key]int{}, inHandOf: namesakes{}, unconfirmedOf: namesakes{},
		work: make(chan state.Item), results: make(chan result), confirmed: make(chan []finding, 1),
		committed: make(chan commit, 1),
	}
	if err := a.nextVersions(ctx, interrupted); err != nil {
		return nil, err
	}
	var last time.Time
	for _, i := range interrupted {
		if i.IntentAt.After(last) {
			last = i.IntentAt
		}
	}
	due := a.formerEnd(last).Add(max(a.ConfirmTimeout, a.ResponseTimeout)) // all of them may have been uploaded
	for _, i := range interrupted {
		if wasSent(i) {
			d.queue = append(d.queue, i)
		} else {
			d.pending(i, due.Add(migrate.ProcessingTime(i.Size)), false)
		}
	}
	for i, err := range a.State.Items(ctx, a.run.Num, state.ItemSent) {
		if err != nil {
			return nil, err
		}
		d.queue = append(d.queue, i)
	}
	return d, d.findDue(ctx)
}

// dispatch runs until no work is left, or the run has to end early.
func (d *dispatcher) dispatch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	stop, aborted := d.Stop, ctx.Done()
	if err := d.look(ctx); err != nil { // at the items of an earlier process
		return err
	}
	for {
		d.advance(ctx)
		if d.idle() {
			if err := d.record(ctx); err != nil {
				return errors.Join(d.why, err)
			}
			if d.idle() && (d.stopping || !d.stays()) { // older versions may have been recorded
				return cmp.Or(d.why, d.shouldStop(ctx))
			}
		}
		d.reportUnconfirmed()
		var work chan<- state.Item
		var next state.Item
		if len(d.queue) > 0 && !d.pausesUploads() && !d.unconfirmedOf.has(d.queue[0]) {
			work, next = d.work, d.queue[0]
		}
		var err error
		select {
		case work <- next:
			d.queue = d.queue[1:]
			d.inHand++
			d.inHandOf.add(next, 1)
		case r := <-d.results:
			d.inHand--
			d.inHandOf.add(r.item, -1)
			err = d.take(r)
		case findings := <-d.confirmed:
			d.resolving = false
			err = d.learn(ctx, findings)
		case c := <-d.committed:
			err = d.advanced(c)
		case <-tick.C:
			err = errors.Join(d.wake(ctx), d.look(ctx))
		case <-stop:
			stop = nil
			d.stop(migrate.ErrStopped)
		case <-aborted:
			aborted = nil
			d.stop(context.Cause(ctx))
		}
		if err != nil {
			d.stop(err)
		}
	}
}

// shouldStop returns the reason for which a run must not count as finished although its last call
// has just returned: work that returned because of a stop may not have started.
func (d *dispatcher) shouldStop(ctx context.Context) error {
	select {
	case <-d.Stop:
		return migrate.ErrStopped
	default:
		return context.Cause(ctx)
	}
}

// stop takes no more items and waits for those that workers have. A run that stops already keeps
// its reason, and the first fatal error with it.
func (d *dispatcher) stop(why error) {
	if d.stopping {
		if migrate.HasClass(why, retry.Fatal) && !migrate.HasClass(d.why, retry.Fatal) {
			d.why = errors.Join(d.why, why)
		}
		return
	}
	d.stopping, d.why = true, why
	d.release(d.queue...)
	d.queue = nil
}

// idle reports whether there is no work at the moment.
func (d *dispatcher) idle() bool {
	if d.inHand > 0 || d.resolving || d.committing || len(d.queue) > 0 {
		return false
	}
	return d.stopping || d.exhausted && len(d.unconfirmed) == 0
}

// take deals with the result of a worker.
func (d *dispatcher) take(r result) error {
	if r.release {
		d.release(r.item)
		return r.fatal
	}
	r.outcome = d.postpone(r)
	d.add(r.item, withoutRefused(r))
	if r.outcome.State == state.ItemUnconfirmed {
		r.item.Error = r.outcome.Error
		d.pending(r.item, clock.Now().Add(d.confirmationDelay(r.answer)+migrate.ProcessingTime(r.item.Size)), true)
	}
	return cmp.Or(r.fatal, d.breaker(r))
}

// confirmationDelay is how long a result may take to become visible after its answer was lost. It
// is longer if the service sent no answer at all, because it may still be processing the request.
func (a *Applier) confirmationDelay(answered bool) time.Duration {
	if answered {
		return a.ConfirmTimeout
	}
	return max(a.ConfirmTimeout, a.ResponseTimeout)
}
