package enrich

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// Apply writes accepted proposals into the assets. It reads each asset first. If the
// description, tags or attribute changed after the proposal was made, the result is a conflict
// and nothing is written. Apply first completes the writes that an interrupted process had
// recorded. The result is valid even with an error.
func (e *Engine) Apply(ctx context.Context) (Result, error) {
	return e.write(ctx, enrichment.Run{Command: "apply"}, func(w *writer, ctx context.Context) error {
		for c, err := range e.Store.Enrichments(ctx, e.Destination, enrichment.Filter{States: []enrichment.State{enrichment.Accepted}}) {
			if err != nil {
				return err
			}
			if !w.start(ctx, c.Asset, func() error { return w.apply(ctx, c) }) {
				break
			}
		}
		return nil
	})
}

// write executes a run that writes: it completes recorded writes, then does the work.
func (e *Engine) write(ctx context.Context, run enrichment.Run, work func(w *writer, ctx context.Context) error) (Result, error) {
	run.Destination = e.Destination
	run, err := e.Store.BeginRun(ctx, run)
	if err != nil {
		return Result{}, err
	}
	w := &writer{Engine: e, run: run, states: map[enrichment.State]int64{}, seed: maphash.MakeSeed()}
	e.Observer.Phase(run.Command, -1)
	draining := e.draining(ctx)
	if err = w.completeChanges(draining); err == nil {
		err = w.together(draining, func(ctx context.Context) error { return work(w, ctx) })
	}
	if errors.Is(err, retry.ErrDraining) {
		w.stopped, err = true, nil
	}
	return w.result(ctx, err)
}

// A writer is a run that writes into assets.
type writer struct {
	*Engine
	run   enrichment.Run
	group *errgroup.Group

	seed  maphash.Seed
	locks [64]sync.Mutex // serialize work on the same asset

	mu      sync.Mutex
	states  map[enrichment.State]int64
	stopped bool
}

// together executes work that starts tasks, and waits for all of them.
func (w *writer) together(ctx context.Context, work func(ctx context.Context) error) error {
	group, parallel := errgroup.WithContext(ctx)
	group.SetLimit(w.Concurrency)
	w.group = group
	err := work(parallel)
	return errors.Join(w.group.Wait(), err)
}

// start runs f for an asset in parallel with other assets. It returns false if no more work may
// start.
func (w *writer) start(ctx context.Context, asset string, f func() error) bool {
	select {
	case <-w.Stop:
		w.mu.Lock()
		w.stopped = true
		w.mu.Unlock()
		return false
	case <-ctx.Done():
		return false
	default:
	}
	w.group.Go(func() error {
		lock := &w.locks[maphash.String(w.seed, asset)%uint64(len(w.locks))]
		lock.Lock()
		defer lock.Unlock()
		defer w.Observer.Progress(1)
		return f()
	})
	return true
}

// apply writes one accepted proposal. Its error ends the run.
func (w *writer) apply(ctx context.Context, c enrichment.Enrichable) error {
	e := *c.Enrichment
	now, err := w.Library.Asset(ctx, e.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return w.conflict(ctx, e, "the asset was deleted")
	} else if err != nil {
		return w.skipped(ctx, e, err)
	}
	if why := changedSince(e, now); why != "" {
		return w.conflict(ctx, e, why)
	}
	if isDecorative(e) { // after the check above: a recorded write is completed without it
		if err := w.Decorative(ctx, true, e.Asset); err != nil {
			return err
		}
	}
	before, after := changeOf(e, now)
	if err := w.Store.Apply(ctx, w.run.Num, e.Num, before, after); err != nil {
		return err
	}
	return w.carryOut(ctx, enrichment.Change{Run: w.run.ID, Enrichment: e, State: enrichment.ChangeApplying, Before: before, After: after}, now)
}

// isDecorative reports whether a proposal says that the asset needs no description.
func isDecorative(e enrichment.Enrichment) bool {
	return e.Proposal.Decorative && e.Proposal.Text == ""
}

// changedSince returns what another user changed after the proposal was made, or "" if nothing
// relevant changed.
func changedSince(e enrichment.Enrichment, now assets.Asset) string {
	switch b := e.Basis; {
	case now.Metadata.Description != b.Description:
		return "the description has changed since the proposal"
	case b.Attribute != "" && attributeOf(now.Metadata.CustomAttributes, b.Attribute) != b.Value:
		return "the attribute " + b.Attribute + " has changed since the proposal"
	case len(e.Proposal.Tags) > 0 && !sameTags(now.Tags, b.Tags):
		return "the tags have changed since the proposal"
	}
	return ""
}

func sameTags(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

// changeOf returns what a proposal changes in the current asset.
func changeOf(e enrichment.Enrichment, now assets.Asset) (before, after enrichment.Written) {
	p := e.Proposal
	switch was := now.Metadata.Description; {
	case p.Text == "":
	case e.Basis.Attribute != "":
		before.Attribute, after.Attribute, after.Value = e.Basis.Attribute, e.Basis.Attribute, &p.Text
		if _, there := now.Metadata.CustomAttributes[e.Basis.Attribute]; there {
			before.Value = &e.Basis.Value
		}
	case was != p.Text:
		before.Description, after.Description = &was, &p.Text
	}
	merged := slices.Clone(now.Tags)
	for _, tag := range p.Tags {
		if !contains(merged, tag) {
			merged = append(merged, tag)
		}
	}
	if len(merged) > len(now.Tags) {
		was := append([]string{}, now.Tags...)
		before.Tags, after.Tags = &was, &merged
	}
	return before, after
}

// isWritten reports whether an asset already has the written values.
func isWritten(now assets.Asset, w enrichment.Written) bool {
	if w.Description != nil && now.Metadata.Description != *w.Description || w.Tags != nil && !sameTags(now.Tags, *w.Tags) {
		return false
	}
	if w.Attribute == "" {
		return true
	}
	value, there := now.Metadata.CustomAttributes[w.Attribute]
	if w.Value == nil {
		return !there
	}
	return there && value == *w.Value
}

// changesTo returns the changes that an asset needs to get the written values.
func changesTo(now assets.Asset, w enrichment.Written) assets.Changes {
	c := assets.Changes{Description: w.Description, Tags: w.Tags}
	if w.Attribute == "" {
		return c
	}
	c.CustomAttributes = map[string]any{}
	maps.Copy(c.CustomAttributes, now.Metadata.CustomAttributes)
	if w.Value == nil {
		delete(c.CustomAttributes, w.Attribute)
	} else {
		c.CustomAttributes[w.Attribute] = *w.Value
	}
	return c
}

// carryOut performs a recorded change on the current asset.
func (w *writer) carryOut(ctx context.Context, c enrichment.Change, now assets.Asset) error {
	from, to := c.Before, c.After
	if c.State == enrichment.ChangeUndoing {
		from, to = to, from
	}
	switch {
	case isWritten(now, to):
		return w.record(ctx, c, true, "")
	case !isWritten(now, from):
		return w.overwritten(ctx, c, now)
	}
	_, err := w.Writer.Update(ctx, c.Enrichment.Asset, changesTo(now, to))
	if err == nil {
		return w.record(ctx, c, true, "")
	}
	class, _ := retry.Classify(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.record(ctx, c, false, "the asset was deleted")
	case class == retry.Permanent:
		return w.refused(ctx, c, err)
	}
	return w.skipped(ctx, c.Enrichment, err) // the write may have arrived: the next run checks
}

// overwritten records that an asset does not have the value that a change expects. If a later
// run wrote that value, the change stays open: undoing the later run makes this change possible
// again.
func (w *writer) overwritten(ctx context.Context, c enrichment.Change, now assets.Asset) error {
	if c.State != enrichment.ChangeUndoing {
		return w.record(ctx, c, false, "another user changed the asset")
	}
	for later, err := range w.Store.LaterChanges(ctx, c.Run, c.Enrichment.Asset) {
		if err != nil {
			return err
		}
		if !sameField(c.After, later.After) || !isWritten(now, later.After) {
			continue
		}
		ctx, cancel := recording(ctx)
		defer cancel()
		why := fmt.Sprintf("a later run changed the asset again: undo run %s first", later.Run)
		if err := w.Store.Undone(ctx, c.Run, c.Enrichment.Num, enrichment.ChangeApplied, why); err != nil {
			return err
		}
		w.reportOutcome(ctx, c.Enrichment, enrichment.Conflict, "", why)
		return nil
	}
	return w.record(ctx, c, false, "another user changed the asset")
}

// sameField reports whether two changes write the same field.
func sameField(a, b enrichment.Written) bool {
	return a.Description != nil && b.Description != nil || a.Tags != nil && b.Tags != nil || a.Attribute != "" && a.Attribute == b.Attribute
}

// record stores the result of a change: written, or a conflict.
func (w *writer) record(ctx context.Context, c enrichment.Change, written bool, why string) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	outcome, st, save := enrichment.ChangeConflict, enrichment.Conflict, w.Store.Applied
	if written {
		outcome, st = enrichment.ChangeApplied, enrichment.Applied
	}
	if c.State == enrichment.ChangeUndoing {
		save = w.Store.Undone
		if written {
			outcome, st = enrichment.ChangeUndone, enrichment.Undone
		}
	}
	if err := save(ctx, c.Run, c.Enrichment.Num, outcome, why); err != nil {
		return err
	}
	w.reportOutcome(ctx, c.Enrichment, st, "", why)
	return nil
}

// refused records that the service rejected a change. Accepted proposals stay accepted, and
// applied ones stay applied.
func (w *writer) refused(ctx context.Context, c enrichment.Change, err error) error {
	ctx, cancel := recording(ctx)
	defer cancel()
	outcome, save := enrichment.ChangeFailed, w.Store.Applied
	if c.State == enrichment.ChangeUndoing {
		outcome, save = enrichment.ChangeApplied, w.Store.Undone
	}
	if err := save(ctx, c.Run, c.Enrichment.Num, outcome, oneLine(err)); err != nil {
		return err
	}
	w.reportOutcome(ctx, c.Enrichment, enrichment.Failed, string(retry.Permanent), oneLine(err))
	return nil
}

// conflict records that a proposal was not written.
func (w *writer) conflict(ctx context.Context, e enrichment.Enrichment, why string) error {
	if err := w.Store.Conflict(ctx, e.Num, why); err != nil {
		return err
	}
	w.reportOutcome(ctx, e, enrichment.Conflict, "", why)
	return nil
}

// skipped leaves an asset for the next run after a temporary error. An error that affects all
// assets ends the run.
func (w *writer) skipped(ctx context.Context, e enrichment.Enrichment, err error) error {
	class, _ := retry.Classify(err)
	if class == retry.Fatal || ctx.Err() != nil || errors.Is(err, retry.ErrDraining) {
		return err
	}
	w.reportOutcome(ctx, e, enrichment.Failed, string(class), oneLine(err))
	return nil
}

func (w *writer) reportOutcome(ctx context.Context, e enrichment.Enrichment, st enrichment.State, class, why string) {
	w.mu.Lock()
	w.states[st]++
	w.mu.Unlock()
	o := outcomeOf(e)
	if a, err := w.Store.Asset(ctx, w.Destination, e.Asset); err == nil { // otherwise only the ID is known
		o.Path = Path(a)
	}
	o.State, o.Proposal, o.Class, o.Error = st, &e.Proposal, class, why
	w.Observer.Outcome(o)
}

// completeChanges completes the writes that an interrupted process had recorded.
func (w *writer) completeChanges(ctx context.Context) error {
	return w.together(ctx, func(ctx context.Context) error {
		for c, err := range w.Store.OpenChanges(ctx, w.Destination) {
			if err != nil {
				return err
			}
			if !w.start(ctx, c.Enrichment.Asset, func() error { return w.completeChange(ctx, c) }) {
				break
			}
		}
		return nil
	})
}

func (w *writer) completeChange(ctx context.Context, c enrichment.Change) error {
	now, err := w.Library.Asset(ctx, c.Enrichment.Asset)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.record(ctx, c, false, "the asset was deleted")
	case err != nil:
		return w.skipped(ctx, c.Enrichment, err)
	}
	return w.carryOut(ctx, c, now)
}

func (w *writer) result(ctx context.Context, err error) (Result, error) {
	ctx, cancel := recording(ctx)
	defer cancel()
	err = errors.Join(err, w.Store.FinishRun(ctx, w.run.Num, nil))
	run, readErr := w.Store.Run(ctx, w.run.ID)
	if readErr != nil {
		run, err = w.run, errors.Join(err, readErr)
	}
	if err != nil {
		err = fmt.Errorf("run %s: %w", run.ID, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return Result{Run: run, States: w.states, Stopped: w.stopped}, err
}
