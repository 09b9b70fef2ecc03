package enrich

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// maxFailureStreak is the number of identical failures in a row that ends a run.
const maxFailureStreak = 20

// Ask requests proposals for the assets of a request and stores them in the state database. It
// first resolves the requests of an interrupted process, and finally deletes its conversations.
// The result is valid even with an error: ErrNoAudit, ErrCreditLimit, a *BreakerError, or a failure
// of the service or the state database.
func (e *Engine) Ask(ctx context.Context, r Request) (Result, error) {
	r, err := r.withDefaults()
	if err == nil {
		err = e.needAudit(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	run, err := e.Store.BeginRun(ctx, enrichment.Run{Destination: e.Destination, Command: string(r.Kind), Service: e.Host, Model: r.Model.ID, Contexts: r.contexts()})
	if err != nil {
		return Result{}, err
	}
	a := &asker{Engine: e, request: r, run: run, states: map[enrichment.State]int64{}}
	err = a.all(ctx)
	left, cleanErr := e.CleanUp(e.draining(ctx))
	return a.result(ctx, left, errors.Join(err, cleanErr))
}

// An asker is a run that requests proposals.
type asker struct {
	*Engine
	request     Request
	run         enrichment.Run
	creditLimit creditLimit
	// categories are the current ones by ID: a category may have become private since the
	// audit.
	categories map[string]assets.Category

	mu            sync.Mutex
	states        map[enrichment.State]int64
	last          string // kind of the last failure; "" after a success
	failureStreak int    // number of identical failures in a row
	ended         error  // why no more work starts
	stopped       bool   // the run was stopped before all assets were done
}

func (r *asker) all(ctx context.Context) error {
	if err := r.creditLimit.start(ctx, r); err != nil {
		return err
	}
	draining := r.draining(ctx)
	if err := r.resolveConversations(draining); err != nil {
		return r.asStop(err)
	}
	if err := r.readCategories(draining); err != nil {
		return r.asStop(err)
	}
	estimate, err := r.Plan(ctx, r.request)
	if err != nil {
		return err
	}
	r.Observer.Phase(string(r.request.Kind), estimate.Assets)
	if err := r.each(draining); err != nil {
		return r.asStop(err)
	}
	return r.end()
}

// each requests proposals for all selected assets, several at a time.
func (r *asker) each(ctx context.Context) (err error) {
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(r.Concurrency)
	defer func() { err = errors.Join(g.Wait(), err) }()
	batch, size := []Candidate(nil), batchSize(r.request.Kind)
	for l, err := range r.Candidates(ctx, r.request) {
		switch {
		case err != nil:
			return err
		case l.Reason != "" || !r.maySend(&l):
			continue
		case parallel.Err() != nil || r.isOver():
			return nil
		}
		if batch = append(batch, l); len(batch) < size {
			continue
		}
		whole := batch
		batch = nil
		g.Go(func() error { return r.batch(parallel, whole) })
	}
	if len(batch) > 0 && parallel.Err() == nil && !r.isOver() {
		g.Go(func() error { return r.batch(parallel, batch) })
	}
	return nil
}

func (r *asker) readCategories(ctx context.Context) error {
	r.categories = map[string]assets.Category{}
	for c, err := range r.Library.Categories(ctx) {
		if err != nil {
			return err
		}
		r.categories[c.ID] = c
	}
	return nil
}

// maySend reports whether the current category of an asset also permits sending it.
func (r *asker) maySend(l *Candidate) bool {
	c, ok := r.categories[l.Category]
	l.CategoryName, l.Private = c.Name, c.Private
	return ok && r.request.Rules.exclusion(l.AuditedAsset) == ""
}

func batchSize(kind enrichment.Kind) int {
	switch kind {
	case enrichment.KindReview:
		return reviewBatch
	case enrichment.KindTranslate:
		return translateBatch
	}
	return 1
}

// batch requests proposals for some assets. It only returns errors of the state database: other
// errors are stored with the assets or end the run.
func (r *asker) batch(ctx context.Context, batch []Candidate) error {
	if r.isOver() {
		return nil
	}
	if err := r.creditLimit.take(ctx, r); err != nil {
		r.endWith(err)
		return nil
	}
	defer r.creditLimit.done()
	defer r.Observer.Progress(int64(len(batch)))
	switch r.request.Kind {
	case enrichment.KindReview:
		return r.review(ctx, batch)
	case enrichment.KindTranslate:
		return r.translate(ctx, batch)
	}
	return r.describe(ctx, batch[0])
}

// isOver reports whether no more work may start.
func (r *asker) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.Stop:
		r.stopped = true
		return true
	default:
		return r.ended != nil
	}
}

// endWith starts no more work, and keeps the reason.
func (r *asker) endWith(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, retry.ErrDraining) {
		r.stopped = true
	} else if r.ended == nil {
		r.ended = err
	}
}

func (r *asker) end() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// asStop returns nil for an error that only reports a requested stop.
func (r *asker) asStop(err error) error {
	if errors.Is(err, retry.ErrDraining) {
		r.endWith(err)
		return nil
	}
	return errors.Join(r.end(), err)
}

// isFatal reports whether an error affects all assets.
func isFatal(err error) bool {
	if err == nil {
		return false
	}
	class, _ := retry.Classify(err)
	return class == retry.Fatal
}

// failed returns the answer to store after an error. An error that affects all assets ends the
// run; the asset then stays planned, as after a requested stop.
func (r *asker) failed(ctx context.Context, num int64, err error) enrichment.Answer {
	a := enrichment.Answer{Num: num, Model: r.request.Model.ID}
	class, _ := retry.Classify(err)
	switch flagged := flaggedBy(err); {
	case len(flagged) > 0:
		a.State, a.Flagged, a.Error = enrichment.Refused, flagged, oneLine(err)
	case ctx.Err() != nil || errors.Is(err, retry.ErrDraining):
		a.State = enrichment.Planned
		r.endWith(retry.ErrDraining)
	case class == retry.Fatal:
		a.State = enrichment.Planned
		r.endWith(err)
	default:
		a.State, a.Class, a.Error = enrichment.Failed, string(class), oneLine(err)
		r.count(err)
	}
	return a
}

// flaggedBy returns the moderation categories for which the service refused content.
func flaggedBy(err error) []string {
	var e interface {
		error
		FlaggedCategories() []string
	}
	if errors.As(err, &e) {
		return e.FlaggedCategories()
	}
	return nil
}

// oneLine returns an error as stored in the state database.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// count ends the run after too many identical failures in a row.
func (r *asker) count(err error) {
	way := failureKind(err)
	r.mu.Lock()
	if way != r.last {
		r.last, r.failureStreak = way, 0
	}
	r.failureStreak++
	over := r.failureStreak >= maxFailureStreak
	failures := r.failureStreak
	r.mu.Unlock()
	if over {
		r.endWith(&BreakerError{failures, err})
	}
}

// failureKind returns what identical failures of different assets have in common: the message
// without words that contain digits, such as IDs.
func failureKind(err error) string {
	var words []string
	for word := range strings.FieldsSeq(err.Error()) {
		if !strings.ContainsFunc(word, unicode.IsDigit) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// record stores answers, even after an interrupt, and reports them. There is one outcome for
// each answer.
func (r *asker) record(ctx context.Context, outcomes []Outcome, answers []enrichment.Answer) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	if err := r.Store.Answer(ctx, r.run.Num, answers); err != nil {
		return err
	}
	for n, a := range answers {
		o := outcomes[n]
		if a.State == enrichment.Planned {
			continue // no result yet
		}
		r.mu.Lock()
		r.states[a.State]++
		if a.State == enrichment.Proposed {
			r.last, r.failureStreak = "", 0
		}
		r.mu.Unlock()
		o.State, o.Proposal, o.Class, o.Error, o.Flagged = a.State, a.Proposal, a.Class, a.Error, a.Flagged
		r.Observer.Outcome(o)
	}
	return nil
}

// leave counts an asset without a result, so the run is reported as incomplete.
func (r *asker) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[enrichment.Planned]++
}

// outcomeOf returns the outcome of an enrichment before it has a result.
func outcomeOf(e enrichment.Enrichment) Outcome {
	return Outcome{Asset: e.Asset, Kind: e.Kind, Language: e.Language}
}

func (r *asker) result(ctx context.Context, left int64, err error) (Result, error) {
	ctx, cancel := recording(ctx)
	defer cancel()
	credits := r.creditLimit.total(ctx, r)
	err = errors.Join(err, r.Store.FinishRun(ctx, r.run.Num, credits))
	run, readErr := r.Store.Run(ctx, r.run.ID)
	if readErr != nil {
		run, err = r.run, errors.Join(err, readErr)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("run %s: %w", run.ID, err)
	}
	return Result{Run: run, States: r.states, Stopped: r.stopped, Left: left}, err
}
