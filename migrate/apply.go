package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
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

// A doubt is an item of which it is not known whether it arrived. It is looked
// at twice: at once, since most are there by then, and when it is due, because
// what is not there by then does not come any more.
type doubt struct {
	item   state.Item
	due    time.Time
	looked bool
	fresh  bool // it arose in this process
}

// doubt puts an item in doubt that may become visible for so long yet. That
// counts from now: an upload may have taken long since its intent.
func (d *dispatcher) doubt(i state.Item, wait time.Duration, fresh bool) {
	if i.Action == state.Adopt {
		wait = 0 // it was not going to change anything
	}
	d.doubts = append(d.doubts, doubt{item: i, due: time.Now().Add(wait), fresh: fresh})
	if fresh {
		d.fresh++
	}
}

// holdsBack reports whether so much is in doubt that nothing more is sent until
// some of it is settled: a service in trouble is not helped by more of the same.
func (d *dispatcher) holdsBack() bool { return d.fresh >= d.Concurrency }

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

// look starts to settle items in doubt, aside from the uploads.
func (d *dispatcher) look(ctx context.Context) {
	if d.settling || d.stopping {
		return
	}
	now := time.Now()
	var ready, later []doubt
	for _, q := range d.doubts {
		if q.looked && now.Before(q.due) {
			later = append(later, q)
		} else {
			ready = append(ready, q)
		}
	}
	if len(ready) == 0 {
		return
	}
	d.doubts, d.settling = later, true
	go func() { d.settled <- d.settleAll(ctx, d.structure, ready, now) }()
}

// learn takes note of what was found out about items in doubt. What did not
// arrive is sent again, with a new intent, unless that has failed too often.
func (d *dispatcher) learn(ctx context.Context, findings []finding) error {
	var again []finding
	var broken error
	for _, f := range findings {
		if f.receipt == nil && (!f.final || d.stopping) {
			f.looked = true
			d.doubts = append(d.doubts, f.doubt)
			continue
		}
		if f.fresh {
			d.fresh--
		}
		switch {
		case f.receipt != nil:
			if !f.fresh { // or its bytes were counted as they were sent
				d.Watch.Progress(0, f.item.Size)
			}
			d.add(f.item, f.outcome())
		case f.lost():
			d.add(f.item, f.outcome())
		case f.err != nil:
			d.unclear++
			d.add(f.item, f.outcome())
		case d.mayResend(f):
			again = append(again, f)
		default:
			broken = errors.Join(broken, d.giveUp(f))
		}
	}
	if err := errors.Join(broken, d.record(ctx)); err != nil || d.stopping || len(again) == 0 {
		return err
	}
	return d.resend(ctx, again)
}

// mayResend counts that an item was sent in vain. What a former process did does
// not count: it was interrupted.
func (d *dispatcher) mayResend(f finding) bool {
	if f.fresh {
		d.sends[f.item.Key]++
	}
	return d.sends[f.item.Key] < maxSends
}

// giveUp fails an item that leaves no trace at the destination however often it
// is sent.
func (d *dispatcher) giveUp(f finding) error {
	why := fmt.Sprintf("sent %d times, and it is not at the destination", maxSends)
	o := state.Outcome{Key: f.item.Key, State: state.ItemFailed, Class: string(retry.Transient), Error: why + "; the last answer: " + f.item.Error}
	delete(d.sends, f.item.Key)
	d.add(f.item, o)
	return d.breaker(result{item: f.item, outcome: o, alike: why})
}

func (d *dispatcher) resend(ctx context.Context, again []finding) error {
	keys := make([]string, len(again))
	for n, f := range again {
		keys[n] = f.item.Key
	}
	now := d.Now()
	if err := d.Journal.Resend(ctx, d.run.Num, keys, now); err != nil {
		return err
	}
	if d.settleOnly {
		return d.Journal.Release(ctx, d.run.Num, keys)
	}
	for _, f := range again {
		if f.fresh {
			d.Watch.Progress(0, -f.item.Size) // they will be sent again
		}
		f.item.IntentAt = now
		d.queue = append(d.queue, f.item)
	}
	return nil
}
