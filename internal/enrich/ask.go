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

// maxAlike is how many assets in a row may fail in the same way before a run ends.
const maxAlike = 20

// Ask has proposals made for the assets that a request is about, and keeps them in the
// journal. First it finds out what became of what an earlier process asked; in the end it
// deletes the conversations it held. The result is good also with an error: ErrNoSurvey,
// ErrBudget, a *BreakerError, or what is wrong with the service or the journal for all
// assets.
func (e *Engine) Ask(ctx context.Context, r Request) (Result, error) {
	r, err := r.withDefaults()
	if err == nil {
		err = e.needSurvey(ctx)
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

// An asker is a run that asks.
type asker struct {
	*Engine
	request Request
	run     enrichment.Run
	budget  budget
	// categories are those of the destination now, by id: one may have become private since
	// the survey.
	categories map[string]assets.Category

	mu      sync.Mutex
	states  map[enrichment.State]int64
	last    string // how the last asset failed; empty if it did not
	alike   int    // how many in a row did so
	ended   error  // why nothing is begun any more
	stopped bool   // some were left because it was told to stop
}

func (r *asker) all(ctx context.Context) error {
	if err := r.budget.begin(ctx, r); err != nil {
		return err
	}
	draining := r.draining(ctx)
	if err := r.settle(draining); err != nil {
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

// each asks about all assets that leave, some at a time.
func (r *asker) each(ctx context.Context) (err error) {
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(r.Concurrency)
	defer func() { err = errors.Join(g.Wait(), err) }()
	batch, size := []Leaving(nil), batchSize(r.request.Kind)
	for l, err := range r.Leaving(ctx, r.request) {
		switch {
		case err != nil:
			return err
		case l.Reason != "" || !r.mayLeave(&l):
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

// mayLeave reports whether an asset may leave also as its category is now.
func (r *asker) mayLeave(l *Leaving) bool {
	c, ok := r.categories[l.Category]
	l.CategoryName, l.Private = c.Name, c.Private
	return ok && r.request.Rules.holdsBack(l.Surveyed) == ""
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

// batch asks about some assets. Its error is one of the journal: all others are those of
// assets, or end the run.
func (r *asker) batch(ctx context.Context, batch []Leaving) error {
	if r.isOver() {
		return nil
	}
	if err := r.budget.take(ctx, r); err != nil {
		r.endWith(err)
		return nil
	}
	defer r.budget.done()
	defer r.Observer.Progress(int64(len(batch)))
	switch r.request.Kind {
	case enrichment.KindReview:
		return r.review(ctx, batch)
	case enrichment.KindTranslate:
		return r.translate(ctx, batch)
	}
	return r.describe(ctx, batch[0])
}

// isOver reports whether nothing is to be begun any more.
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

// endWith has nothing begun any more, for a reason.
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

// asStop takes an error that only says that the run was told to stop for no error.
func (r *asker) asStop(err error) error {
	if errors.Is(err, retry.ErrDraining) {
		r.endWith(err)
		return nil
	}
	return errors.Join(r.end(), err)
}

// isFatal reports whether an error concerns all assets.
func isFatal(err error) bool {
	if err == nil {
		return false
	}
	class, _ := retry.Classify(err)
	return class == retry.Fatal
}

// failed is what becomes of an asset after an error. One that concerns all assets ends the
// run; then, and where it was only told to stop, the asset was not to blame.
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

// flaggedBy gives the categories for which the moderation of the service refused something.
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

// oneLine is an error as the journal has it.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// count ends the run if too many assets in a row fail in the same way.
func (r *asker) count(err error) {
	way := wayOf(err)
	r.mu.Lock()
	if way != r.last {
		r.last, r.alike = way, 0
	}
	r.alike++
	over := r.alike >= maxAlike
	failures := r.alike
	r.mu.Unlock()
	if over {
		r.endWith(&BreakerError{failures, err})
	}
}

// wayOf tells what errors of several assets have in common: not their numbers, and no words
// that have numbers in them, such as ids.
func wayOf(err error) string {
	var words []string
	for word := range strings.FieldsSeq(err.Error()) {
		if !strings.ContainsFunc(word, unicode.IsDigit) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// record keeps what came of asking, also after an interrupt, and tells of it. There is an
// outcome for each answer.
func (r *asker) record(ctx context.Context, outcomes []Outcome, answers []enrichment.Answer) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	if err := r.Store.Answer(ctx, r.run.Num, answers); err != nil {
		return err
	}
	for n, a := range answers {
		o := outcomes[n]
		if a.State == enrichment.Planned {
			continue // nothing came of it yet
		}
		r.mu.Lock()
		r.states[a.State]++
		if a.State == enrichment.Proposed {
			r.last, r.alike = "", 0
		}
		r.mu.Unlock()
		o.State, o.Proposal, o.Class, o.Error, o.Flagged = a.State, a.Proposal, a.Class, a.Error, a.Flagged
		r.Observer.Outcome(o)
	}
	return nil
}

// leave counts an asset of which nothing can be said yet: a run that left some did not do all.
func (r *asker) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[enrichment.Planned]++
}

// outcomeOf is what is told of an enrichment before anything came of it.
func outcomeOf(e enrichment.Enrichment) Outcome {
	return Outcome{Asset: e.Asset, Kind: e.Kind, Language: e.Language}
}

func (r *asker) result(ctx context.Context, left int64, err error) (Result, error) {
	ctx, cancel := recording(ctx)
	defer cancel()
	credits := r.budget.total(ctx, r)
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
