package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const unchangedPage = 10_000 // objects that are only counted, for which alone the disk need not be flushed that often

// A listing is what a scan tells those that decide what it staged.
type listing struct {
	decided       bool  // all that is staged, while it was listed
	judged        int64 // how much of that is decided
	maybeSidecars bool  // something was listed that may describe another object
}

// A goneCount is how many objects are known to the state database and not listed.
type goneCount struct{ objects int64 }

// do lists the source, as far as that is not done.
func (w *walk) do(ctx context.Context) error {
	if w.run.State == state.Scanning {
		if err := w.scan(ctx); err != nil {
			return err
		}
	}
	w.Watch.Phase(migrate.PhasePlan, -1, -1)
	return nil
}

// scan lists the source from where the run's listing stopped and stages what is
// not as the state database remembers it. Where it can, it stages decisions: to store them
// later takes longer than all the rest of a plan.
func (w *walk) scan(ctx context.Context) (err error) {
	w.Watch.Phase(migrate.PhaseScan, -1, -1)
	if w.listing.decided, err = w.decidesAtOnce(ctx); err != nil {
		return err
	}
	w.page.Cursor = w.run.Cursor
	if w.Rules.FilesFrom != nil {
		w.unseen = maps.Clone(w.Rules.FilesFrom.Keys)
	}
	w.history = w.openHistory(ctx, w.run.Cursor, w.missedIn(ctx))
	defer w.history.close()
	w.failures = w.history.failures
	w.sidecars = newMergeCursor(w.Journal.Sidecars(ctx, w.run.Pair.ID, w.run.Cursor), func(c state.Sidecar) sources.Key { return c.Key })
	w.sidecars.passed = func(c state.Sidecar) error { return w.lost(ctx, c) }
	defer w.sidecars.stop()
	w.aliases = newMergeCursor(w.Journal.AllAliases(ctx, w.run.Pair.ID, w.run.Cursor), func(a state.Alias) sources.Key { return a.Key })
	w.aliases.passed = func(a state.Alias) error { return w.lostAlias(ctx, a) }
	defer w.aliases.stop()
	w.unsettled = newMergeCursor(w.unclear(ctx), func(f state.Failure) sources.Key { return f.Key })
	w.unsettled.passed = func(f state.Failure) error { return w.unsettledAt(ctx, f) }
	defer w.unsettled.stop()
	w.outcomes = newMergeCursor(w.done(ctx), func(i state.Item) sources.Key { return i.Key })
	w.outcomes.passed = w.goneSince
	defer w.outcomes.stop()
	for o, err := range w.Source.Objects(ctx, w.run.Cursor) {
		if err != nil {
			return errors.Join(err, w.stage(ctx))
		}
		if err := w.object(ctx, o); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// A walk is a listing of the source that is being staged.
type walk struct {
	*planning
	*decider
	listing *listing
	gone    *goneCount

	history  *history
	sentinel bool       // was listed
	page     state.Page // to be staged next
	chain    chain      // of objects that may have sidecars

	unseen map[sources.Key]bool // named by the user, not listed so far
	listed int64                // by this process
	met    int64                // of these, those that the state database knows

	sidecars  *mergeCursor[state.Sidecar] // as they were listed last
	aliases   *mergeCursor[state.Alias]   // the same
	unsettled *mergeCursor[state.Failure] // that may have arrived all the same
	outcomes  *mergeCursor[state.Item]    // of this run, from before it was listed again
	unread    hidden                      // folders that could not be read, and links that were not followed
}

// object takes an object of the listing.
func (w *walk) object(ctx context.Context, o sources.Object) error {
	key := o.Key
	if key <= w.page.Cursor && w.page.Cursor != "" {
		return w.disorder(ctx, key)
	}
	if err := w.stageVanished(ctx, key); err != nil {
		return err
	}
	r, err := w.recollect(o)
	if err != nil {
		return err
	}
	delete(w.unseen, key)
	w.seeSentinel(o)
	if r.memory != migrate.Unknown {
		w.met++
	} else if r.shares && w.isAlias(o, r.alias, r.approved, r.isApproved) {
		return w.passAlias(ctx, r.alias)
	} else if taken, err := w.sidecar(ctx, o); taken || err != nil {
		w.count()
		return err
	}
	w.chain.pass(key)
	w.count()
	return w.decide(ctx, o, &r)
}

// count counts an object that was listed.
func (w *walk) count() {
	w.listed++
	w.Watch.Progress(1, 0)
}

// A recollection is what is known of an object before it is listed.
type recollection struct {
	memory     migrate.Memory
	receipt    state.Receipt
	alias      state.Alias
	shares     bool // it is an alias
	wasDone    bool // by this run, before it was listed again
	approved   state.Item
	isApproved bool
}

// recollect finds what is known of the next object. Then the cursor is at that.
func (w *walk) recollect(o sources.Object) (r recollection, err error) {
	if r.memory, r.receipt, err = w.history.memory(o); err != nil {
		return r, err
	}
	if r.alias, r.shares, err = w.aliases.find(o.Key); err != nil { // before the cursor is at an object that is not staged
		return r, err
	}
	if _, _, err = w.unsettled.find(o.Key); err != nil { // one that is listed is decided as all else
		return r, err
	}
	if _, r.wasDone, err = w.outcomes.find(o.Key); err != nil {
		return r, err
	}
	w.unread.pass(o)
	w.page.Cursor = o.Key
	r.approved, r.isApproved, err = w.history.approved.of(o.Key)
	return r, err
}

// decide stages an object, and what is decided about it, unless it is as the state database
// remembers it.
func (w *walk) decide(ctx context.Context, o sources.Object, r *recollection) error {
	s := w.situation(o, r.memory, r.receipt, r.approved, r.isApproved)
	if err := w.redescribe(&s, o, r.receipt, r.isApproved, w.history.redescribed); err != nil {
		return err
	}
	if r.wasDone {
		if err := w.changedSince(o, s, r.receipt, r.alias); err != nil {
			return err
		}
	}
	action, _ := migrate.Decide(s, w.Rules)
	switch {
	case r.memory == migrate.Same && r.receipt.Run == w.run.Num && action != state.Describe: // sent before the run was listed again: it counts as done
		return nil
	case action == state.Unchanged && r.memory == migrate.Same:
		return w.countUnchanged(ctx, r.receipt)
	}
	i := state.Item{Object: o}
	if w.listing.decided {
		if err := w.judge(ctx, &i, s, r.receipt, r.approved); err != nil {
			return err
		}
	}
	return w.add(ctx, i)
}

// countUnchanged counts an object that is as its receipt says.
func (w *walk) countUnchanged(ctx context.Context, r state.Receipt) error {
	if w.Unchanged != nil {
		w.Unchanged(r)
	}
	w.page.UnchangedBytes += r.Size
	if w.page.Unchanged++; w.page.Unchanged < unchangedPage {
		return nil
	}
	return w.stage(ctx)
}

// add has an item staged.
func (w *walk) add(ctx context.Context, i state.Item) error {
	if w.page.Items = append(w.page.Items, i); len(w.page.Items) < migrate.PageSize {
		return nil
	}
	return w.stage(ctx)
}

func (w *walk) stage(ctx context.Context) error {
	err := w.Journal.Stage(ctx, w.run.Num, w.page)
	faultpoint.Hit(faultpoint.Staged)
	if w.listing.decided {
		faultpoint.Hit(faultpoint.Decided)
		for _, i := range w.page.Items {
			if i.State != "" { // else it is counted once it is decided
				w.listing.judged++
			}
		}
	}
	w.page = state.Page{Cursor: w.page.Cursor}
	return err
}

// seeSentinel takes note of the object whose presence says that the source is whole.
func (w *walk) seeSentinel(o sources.Object) {
	if o.Key == w.Guards.Sentinel && o.Obstacle == "" {
		w.sentinel = true
	}
}

// checkSentinel fails if the whole source was listed, and the object that must be there was
// not.
func (w *walk) checkSentinel() error {
	if w.Guards.Sentinel == "" || w.sentinel || w.run.Cursor != "" {
		return nil
	}
	return w.Guards.MissingSentinel()
}

// end ends a listing that is whole.
func (w *walk) end(ctx context.Context) error {
	if err := w.checkSentinel(); err != nil {
		return w.notThere(ctx, err)
	}
	if err := w.history.receipts.rest(); err != nil {
		return err
	}
	if err := w.countGone(ctx); err != nil {
		return w.notThere(ctx, err)
	}
	if err := errors.Join(w.sidecars.rest(), w.aliases.rest(), w.unsettled.rest(), w.outcomes.rest()); err != nil { // of a source that is there
		return err
	}
	if err := w.stageMissing(ctx); err != nil {
		return err
	}
	if err := w.stageVanished(ctx, ""); err != nil {
		return err
	}
	w.page.Done = true
	return w.stage(ctx)
}

// notThere ends a listing of what is not the source, or not all of it. A sync is history
// then, and people have to see in the morning that it was held back; all else is gone on
// with once the source is there.
func (w *walk) notThere(ctx context.Context, why error) error {
	err := errors.Join(why, w.stage(ctx))
	if w.Rules.Sync != nil {
		err = errors.Join(err, w.Journal.NoteSync(ctx, w.run.Num, why.Error(), ""))
	}
	return err
}

// decidesAtOnce reports whether objects can be decided while they are listed. Then all of
// them are listed in order by this process: what was staged before, and an outcome from a
// former listing, have a part in the decisions, but only once they are decided anew.
func (p *planning) decidesAtOnce(ctx context.Context) (bool, error) {
	if p.Approval != nil || p.Rules.FilesFrom != nil || p.Mapping.PlaceNeedsMetadata() {
		return false, nil // what describes an object may be listed after it
	}
	for _, err := range p.Journal.Items(ctx, p.run.Num) {
		return false, err
	}
	return true, nil
}

// disorder ends a listing in which a key comes after a greater one. What it has left
// out before that nobody knows, so all of it is forgotten.
func (w *walk) disorder(ctx context.Context, key sources.Key) error {
	err := fmt.Errorf("the source listed %q after %q: its listing is not in order and cannot be trusted", key, w.page.Cursor)
	return errors.Join(err, w.Journal.Relist(ctx, w.run.Num))
}

// countGone counts what has arrived before and is not listed any more, unless a
// part of the listing was done by a former process.
func (w *walk) countGone(ctx context.Context) error {
	if w.run.Cursor != "" {
		return nil
	}
	known, err := w.Journal.SumReceipts(ctx, w.run.Pair.ID)
	if err != nil {
		return err
	}
	if w.listed == 0 && known.Objects > 0 {
		return &migrate.EmptySourceError{Known: known.Objects}
	}
	w.gone.objects = known.Objects - w.met
	return nil
}

// stageMissing adds the keys that the user named and the source does not have.
func (w *walk) stageMissing(ctx context.Context) error {
	for key := range w.unseen {
		_, err := w.Journal.Item(ctx, w.run.Num, key)
		if errors.Is(err, state.ErrNotFound) {
			// A part of the listing that was done before may have found it unchanged.
			if _, err = w.Journal.Receipt(ctx, w.run.Pair.ID, key); errors.Is(err, state.ErrNotFound) {
				err = w.add(ctx, state.Item{Object: sources.Object{Key: key, Obstacle: sources.Obstacle(migrate.ReasonMissing)}})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
