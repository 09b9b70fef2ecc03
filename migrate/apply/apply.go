// Package apply carries out a plan, over any number of runs. The intent is stored before each
// effect and the outcome after it. After a crash, unconfirmed effects are checked at the
// destination, never assumed.
package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// DefaultConfirmTimeout is how long an upload may take to appear at the destination after its
// answer was lost.
const DefaultConfirmTimeout = 10 * time.Second

// DefaultWait is how long a run waits for items scheduled for retry when nothing else is left, and
// for failures of all items to pass.
const DefaultWait = time.Minute

const maxSends = 3 // uploads of an item by one process that left no asset

const aliveEvery = time.Second

// DefaultRetryPauses returns the pauses between the attempts at an item in one run. After the last
// attempt it fails.
func DefaultRetryPauses() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 3 * time.Minute, 20 * time.Minute, 2 * time.Hour}
}

// An Applier carries out plans.
type Applier struct {
	*collect.Collector
	Write           migrate.Writer
	Concurrency     int
	ConfirmTimeout  time.Duration   // see DefaultConfirmTimeout
	ResponseTimeout time.Duration   // see DefaultResponseTimeout
	Wait            time.Duration   // see DefaultWait
	RetryPauses     []time.Duration // see DefaultRetryPauses
	// Provenance "always" writes provenance into every uploaded asset, at the cost of a request;
	// "auto" only with other metadata.
	Provenance string
	// Scan, unless nil, has to accept all content before its upload.
	Scan Scanner
	// FormerAlive is the last sign of life of the former owner of the state database, zero if
	// unknown. Its requests may still take effect after that.
	FormerAlive time.Time
	// Stop, once closed, ends the run in good order: work in progress is finished. Cancelling the
	// context instead aborts work in progress.
	Stop <-chan struct{}

	run         state.Run
	rules       migrate.Rules
	confirmOnly bool
	uploadSlots uploadSlots
	sizes       sizes
}

// New returns an Applier with the default settings.
func New(d migrate.Deps, w migrate.Writer) *Applier {
	return &Applier{
		Collector: collect.New(d), Write: w, Concurrency: migrate.DefaultConcurrency,
		ConfirmTimeout: DefaultConfirmTimeout, ResponseTimeout: migrate.DefaultResponseTimeout, Wait: DefaultWait, RetryPauses: DefaultRetryPauses(),
	}
}

// Apply carries out the plan of a run, also after an interruption: moves first, because they make
// names available, and trashing last. Failed items are data: they are in the state database, and
// Apply goes on. Its error says why the whole run ended early: ErrStopped, the context's cause, or
// a failure of all items. A run with unconfirmed items, or items scheduled for retry, stays open
// and trashes nothing yet.
func (a *Applier) Apply(ctx context.Context, run state.Run) error {
	if err := a.load(ctx, run); err != nil {
		return err
	}
	left, err := a.begin(ctx)
	if err != nil {
		return err
	}
	if err := a.checkScanner(ctx, left); err != nil {
		return err
	}
	defer KeepAlive(a.State)()
	s, unconfirmed, err := a.loadInterrupted(ctx)
	if err != nil {
		return err
	}
	if err := s.makeCategories(retry.WithDrain(ctx, a.Stop)); errors.Is(err, retry.ErrDraining) {
		return migrate.ErrStopped
	} else if err != nil {
		return err
	}
	if left[state.Move] {
		if err := a.bulk(moveMethod{s}).Apply(ctx); err != nil {
			return err
		}
	}
	d, err := a.work(ctx, s, unconfirmed)
	if err != nil || d.unknown > 0 || !d.nextDue.IsZero() {
		return err
	}
	if left[state.Adopt] {
		if err := a.bulk(joinMethod{a.Collector, a.run}).Apply(ctx); err != nil {
			return err
		}
	}
	if left[state.Trash] {
		if err := a.bulk(Trashing{a.Write, a.Dest, a.Stop}).Apply(ctx); err != nil {
			return err
		}
	}
	return a.end(ctx)
}

// ConfirmUploads checks which unconfirmed items of a run arrived, and uploads nothing. Items that
// did not arrive are planned again.
func (a *Applier) ConfirmUploads(ctx context.Context, run state.Run) error {
	if err := a.load(ctx, run); err != nil {
		return err
	}
	a.confirmOnly = true
	defer func() { a.confirmOnly = false }()
	defer KeepAlive(a.State)()
	s, unconfirmed, err := a.loadInterrupted(ctx)
	if err != nil {
		return err
	}
	_, err = a.work(ctx, s, unconfirmed)
	return err
}

// load reads the present state of a run from the state database.
func (a *Applier) load(ctx context.Context, run state.Run) (err error) {
	if a.run, err = a.State.Run(ctx, run.ID); err != nil {
		return err
	}
	if a.rules, err = migrate.ReadRules(a.run); err != nil {
		return err
	}
	a.Sidecarless = true
	for _, err := range a.State.Sidecars(ctx, a.run.Pair.ID, "") {
		a.Sidecarless = false
		return err
	}
	return nil
}

// loadInterrupted returns the items that an earlier process left unconfirmed, except those that are
// changed in batches. Those are checked here, because the run may still be superseded, and are
// planned again if the change has no effect yet. Repeating such a change is safe.
func (a *Applier) loadInterrupted(ctx context.Context) (s *structure, unconfirmed []state.Item, err error) {
	interrupted, err := a.State.Interrupted(ctx, a.run.Num)
	if err != nil {
		return nil, nil, err
	}
	if s, err = newStructure(ctx, a); err != nil {
		return nil, nil, err
	}
	many := map[state.Action][]state.Item{}
	for _, i := range interrupted {
		if i.Action == state.Move || i.Action == state.Trash || i.Joins() {
			many[i.Action] = append(many[i.Action], i)
		} else {
			unconfirmed = append(unconfirmed, i)
		}
	}
	move, trash, join := a.bulk(moveMethod{s}), a.bulk(Trashing{a.Write, a.Dest, a.Stop}), a.bulk(joinMethod{a.Collector, a.run})
	return s, unconfirmed, errors.Join(move.Resolve(ctx, many[state.Move]), trash.Resolve(ctx, many[state.Trash]), join.Resolve(ctx, many[state.Adopt]))
}

func (a *Applier) bulk(m Method) *Bulk {
	return &Bulk{Deps: a.Deps, Method: m, Run: a.run, Wait: a.Wait, RetryPauses: a.RetryPauses, Stop: a.Stop}
}

// work runs a dispatcher and its workers to their end.
func (a *Applier) work(ctx context.Context, s *structure, unconfirmed []state.Item) (*dispatcher, error) {
	d, err := a.newDispatcher(ctx, s, unconfirmed)
	if err != nil {
		return nil, err
	}
	draining := retry.WithDrain(ctx, a.Stop)
	a.uploadSlots = make(uploadSlots, a.Concurrency)
	var workers sync.WaitGroup
	d.ahead = func(items []state.Item) { workers.Go(func() { s.makeAhead(draining, items) }) }
	for range migrate.Workers(a.Concurrency) {
		workers.Go(func() {
			for i := range d.work {
				d.results <- a.send(draining, d.structure, i)
			}
		})
	}
	err = d.dispatch(ctx)
	close(d.work)
	workers.Wait()
	return d, err
}

// KeepAlive records signs of life in a state database until the returned function is called.
func KeepAlive(j *state.Store) (stop func()) {
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				j.Alive()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); ticking.Wait() }
}

// formerEnd is migrate.FormerProcessEnd for the last intent of an earlier process, by the server's
// clock. If that is shorter, the clock of this machine was set forward since.
func (a *Applier) formerEnd(intended time.Time) time.Time {
	end, now := migrate.FormerProcessEnd(a.FormerAlive), clock.Now()
	if begun := now.Add(-max(0, a.Now().Sub(intended))); begun.After(end) {
		return begun
	}
	return end
}

// begin begins the phase, and returns the actions that have items left.
func (a *Applier) begin(ctx context.Context) (left map[state.Action]bool, err error) {
	tallies, err := a.State.Tallies(ctx, a.run.Num)
	if err != nil {
		return nil, err
	}
	left = map[state.Action]bool{}
	objects := map[state.Action]int64{}
	items, bytes := int64(0), int64(0)
	for _, t := range tallies {
		switch t.State {
		case state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemUnconfirmed, state.ItemRetryScheduled:
			left[t.Action] = true
			objects[t.Action] += t.Objects
			items += t.Objects
			if t.Action != state.Move && t.Action != state.Trash && t.Reason != string(migrate.ReasonIdenticalObject) {
				bytes += t.Bytes
			}
		}
	}
	if a.rules.BringsVersions() {
		_, more, err := a.State.PendingVersions(ctx, a.run.Num)
		if err != nil {
			return nil, err
		}
		bytes += more
	}
	a.Watch.Phase(migrate.PhaseApply, items, bytes)
	if err := a.State.OutdateOthers(ctx, a.run, objects); err != nil {
		return nil, err
	}
	switch a.run.State {
	case state.Applying:
		return left, nil
	case state.Planned:
		if err := a.recordSidecars(ctx, tallies); err != nil {
			return nil, err
		}
		return left, a.State.SetRunState(ctx, a.run.Num, state.Planned, state.Applying)
	}
	return nil, fmt.Errorf("run %s is %s and cannot be applied: %w", a.run.ID, a.run.State, state.ErrConflict)
}
