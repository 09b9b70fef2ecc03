package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assetferry/internal/assets"
	"assetferry/state"
)

const (
	// DefaultConcurrency is how many items are sent at once.
	DefaultConcurrency = 16
	// DefaultSettle is how long an effect may take to become visible at the
	// destination after its answer was lost.
	DefaultSettle = 10 * time.Second

	// DefaultAnswer is how long the service may still work on a request that it
	// got completely and that nobody waits for any more.
	DefaultAnswer = assets.ResponseTimeout

	recordBatch   = 128 // outcomes in one transaction
	recordEvery   = 100 * time.Millisecond
	recordTimeout = 30 * time.Second // for what must be written even when aborting
	breakAfter    = 20               // failures in a row, all alike, stop the run
	maxSends      = 3                // of an item by one process, each time without a trace of it
)

// An Applier carries out plans.
type Applier struct {
	Deps
	Write       Writer
	Concurrency int
	Settle      time.Duration // see DefaultSettle
	Answer      time.Duration // see DefaultAnswer
	// Stop, once closed, ends the run in good order: what has begun is finished.
	// Cancelling the context instead aborts what is in flight.
	Stop <-chan struct{}

	run        state.Run
	settleOnly bool
}

// NewApplier makes an applier with the usual settings.
func NewApplier(d Deps, w Writer) *Applier {
	return &Applier{Deps: d.withDefaults(), Write: w, Concurrency: DefaultConcurrency, Settle: DefaultSettle, Answer: DefaultAnswer}
}

// Apply carries out the plan of a run, from wherever a former process left it.
// Items that fail are data: they are in the journal, and Apply goes on. Its error
// says why the run as a whole ended early: ErrStopped, the context's cause, or
// what makes it useless to go on.
func (a *Applier) Apply(ctx context.Context, run state.Run) error {
	var err error
	if a.run, err = a.Journal.Run(ctx, run.ID); err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	d, err := a.work(ctx)
	if err != nil || d.unclear > 0 {
		return err // a run with items in doubt stays open
	}
	return a.Journal.FinishRun(ctx, run.Num)
}

// SettleDoubts finds out about the items of a run that are in doubt, without
// sending anything. What did not arrive is planned again.
func (a *Applier) SettleDoubts(ctx context.Context, run state.Run) error {
	var err error
	if a.run, err = a.Journal.Run(ctx, run.ID); err != nil {
		return err
	}
	a.settleOnly = true
	defer func() { a.settleOnly = false }()
	_, err = a.work(ctx)
	return err
}

// work runs a dispatcher and its workers to their end.
func (a *Applier) work(ctx context.Context) (*dispatcher, error) {
	interrupted, err := a.Journal.Interrupted(ctx, a.run.Num)
	if err != nil {
		return nil, err
	}
	s, err := newStructure(a, a.run)
	if err != nil {
		return nil, err
	}
	if !a.settleOnly {
		if err := s.makeCategories(ctx); err != nil {
			return nil, err
		}
	}
	d := &dispatcher{
		Applier: a, structure: s, exhausted: a.settleOnly, sends: map[string]int{},
		work: make(chan state.Item), results: make(chan result, a.Concurrency), settled: make(chan []finding, 1),
	}
	for _, i := range interrupted {
		d.doubt(i, max(a.Settle, a.Answer), false) // all of it may have been sent
	}
	var workers sync.WaitGroup
	for range a.Concurrency {
		workers.Go(func() {
			for i := range d.work {
				d.results <- a.send(ctx, s, i)
			}
		})
	}
	err = d.dispatch(ctx)
	close(d.work)
	workers.Wait()
	return d, err
}

func (a *Applier) begin(ctx context.Context) error {
	left, bytes := int64(0), int64(0)
	tallies, err := a.Journal.Tallies(ctx, a.run.Num)
	if err != nil {
		return err
	}
	for _, t := range tallies {
		switch t.State {
		case state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemInDoubt:
			left, bytes = left+t.Objects, bytes+t.Bytes
		}
	}
	a.Watch.Phase(PhaseApply, left, bytes)
	switch a.run.State {
	case state.Applying:
		return nil
	case state.Planned:
		return a.Journal.SetRunState(ctx, a.run.Num, state.Planned, state.Applying)
	}
	return fmt.Errorf("run %s is %s and cannot be applied: %w", a.run.ID, a.run.State, state.ErrConflict)
}

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
	unclear   int            // items that could not be found out about
	fresh     int            // doubts that arose in this process and are not settled
	sends     map[string]int // how often an item was sent, of those that left no trace

	done    []state.Outcome // to be recorded
	items   []state.Item    // those of done
	release []string        // keys to be given back

	stopping bool
	why      error // of stopping
	alike    int   // failures in a row, all alike
	last     string
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
			return errors.Join(d.why, d.record(ctx))
		}
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
			err = d.record(ctx)
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

// stop takes no more work. What the workers have is waited for.
func (d *dispatcher) stop(why error) {
	if d.stopping {
		return
	}
	d.stopping, d.why = true, why
	for _, i := range d.queue {
		d.release = append(d.release, i.Key)
	}
	d.queue = nil
}

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
	n := min(2*d.Concurrency, recordBatch)
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
	return nil
}

// take deals with the result of a worker.
func (d *dispatcher) take(ctx context.Context, r result) error {
	if r.release {
		d.release = append(d.release, r.item.Key)
		return r.fatal
	}
	d.add(r.item, r.outcome)
	if r.outcome.State == state.ItemInDoubt {
		r.item.Error = r.outcome.Error
		wait := d.Settle
		if !r.answer {
			wait = max(d.Settle, d.Answer)
		}
		d.doubt(r.item, wait, true)
	}
	if err := d.breaker(r); err != nil {
		return err
	}
	if len(d.done) >= recordBatch {
		return d.record(ctx)
	}
	return nil
}

// breaker stops a run in which everything fails in the same way: the trouble is
// then not with the items.
func (d *dispatcher) breaker(r result) error {
	switch r.outcome.State {
	case state.ItemFailed:
	case state.ItemChanged:
		if r.alike == "" { // it changed; that happens
			return nil
		}
	case state.ItemInDoubt:
		return nil // says nothing either way
	default:
		d.alike = 0
		return nil
	}
	if r.alike != d.last {
		d.alike, d.last = 0, r.alike
	}
	d.alike++
	if d.alike < breakAfter {
		return nil
	}
	return &BreakerError{d.alike, r.outcome.Error}
}

// A BreakerError stops a run in which one item after the other comes to the same
// end.
type BreakerError struct {
	Items int
	Last  string // what happened to the last of them
}

func (e *BreakerError) Error() string {
	return fmt.Sprintf("%d items in a row failed alike, the last with: %s", e.Items, e.Last)
}

// Hint is the next step.
func (e *BreakerError) Hint() string {
	return "the trouble is hardly with each of them: see that the source is there and the destination works, then run the same command again"
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
	if err := d.Journal.Record(ctx, d.run.Num, d.run.Pair.ID, d.done); err != nil {
		return err
	}
	for n, o := range d.done {
		if o.State != state.ItemInDoubt {
			d.Watch.Progress(1, 0)
		}
		d.Watch.Item(d.items[n], o)
	}
	d.done, d.items = nil, nil
	return nil
}

func (d *dispatcher) recordReleased(ctx context.Context) error {
	if len(d.release) == 0 {
		return nil
	}
	err := d.Journal.Release(ctx, d.run.Num, d.release)
	if err == nil {
		d.release = nil
	}
	return err
}
