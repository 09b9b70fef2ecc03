package plan

import (
	"context"
	"errors"
	"fmt"
	"path"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A deletedCount is the number of objects in the state database that are not listed.
type deletedCount struct{ objects int64 }

// do lists the source unless that is done.
func (w *walk) do(ctx context.Context) error {
	if w.run.State == state.Scanning {
		if err := w.scan(ctx); err != nil {
			return err
		}
	}
	w.Watch.Phase(migrate.PhasePlan, -1, -1)
	return nil
}

// scan lists the source from where the run's listing stopped, and stages the objects that differ
// from the state database. If possible it stages decisions, because storing them later takes longer
// than the rest of a plan.
func (w *walk) scan(ctx context.Context) (err error) {
	w.Watch.Phase(migrate.PhaseScan, -1, -1)
	if w.listing.decided, err = w.decidesAtOnce(ctx); err != nil {
		return err
	}
	if w.listing.decided && w.run.Cursor == "" {
		w.overview.begin(w.Staged)
	}
	if w.listing.claimed, err = w.claimsAtOnce(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.writing.Wait()) }()
	w.page.Cursor = w.run.Cursor
	if w.Rules.FilesFrom != nil {
		w.unseen = make(map[sources.Key]bool, len(w.Rules.FilesFrom.Keys))
		for _, key := range w.Rules.FilesFrom.Keys {
			if w.isElsewhere(key) {
				w.waves.Elsewhere.Add(sources.Object{Key: key})
				continue
			}
			w.unseen[key] = true
		}
	}
	w.unlisted = &unlisted{staging: w.staging}
	w.known = w.openMemories(ctx, w.unlisted)
	defer w.known.close()
	w.failures = w.known.failures
	if w.division, err = w.newDivision(ctx); err != nil {
		return err
	}
	for o, err := range w.Source.Objects(ctx, w.run.Cursor) {
		if err != nil && w.overlaps() {
			return err
		} else if err != nil {
			return errors.Join(err, w.flush(ctx))
		}
		if w.overlaps() { // only to count the objects in several waves
			w.sort(o)
			continue
		}
		if err := w.object(ctx, o); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// A walk is a listing of the source that is being staged.
type walk struct {
	*staging
	deleted *deletedCount
	unread  unreadSizes

	division *division // nil: all listed objects are in the run
	known    *memories
	unlisted *unlisted
	chain    chain // of objects that may have sidecars
	sentinel bool  // was listed

	unseen map[sources.Key]bool // named by the user, not listed so far
	listed int64                // by this process
	met    int64                // those of them that are in the state database
}

// object handles a listed object.
func (w *walk) object(ctx context.Context, o sources.Object) error {
	key := o.Key
	if key <= w.page.Cursor && w.page.Cursor != "" {
		return w.disorder(ctx, key)
	}
	if err := w.stageVanished(ctx, key); err != nil {
		return err
	}
	r, err := w.known.of(o) // before the cursor is at an object that is not staged
	if err != nil {
		return err
	}
	o = o.ResizedLike(r.receipt.Object)
	own := w.sort(o)
	if w.overlaps() { // the listing ends before this object, so that a resumed run finds it again
		return nil
	}
	w.unlisted.unread.pass(o)
	w.page.Cursor = key
	delete(w.unseen, key)
	w.seeSentinel(o)
	if w.run.Pair.Forgotten.Has(string(key)) { // an item would store its key again
		w.forgotten++
		w.count()
		return nil
	}
	if !own {
		w.skipElsewhere(o, &r)
		return nil
	}
	if r.memory != migrate.MemoryNone {
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

// decide stages an object with the decision about it, unless the object matches the state database.
func (w *walk) decide(ctx context.Context, o sources.Object, r *objectMemory) error {
	s := w.situation(o, r.memory, r.receipt, r.approved, r.isApproved)
	if err := w.checkMetadata(&s, o, r.receipt, r.isApproved, w.known.redescribed); err != nil {
		return err
	}
	if r.wasDone {
		if err := w.changedSince(o, s, r.receipt, r.alias); err != nil {
			return err
		}
	}
	action, _ := migrate.Decide(s, w.Rules)
	switch {
	case r.memory == migrate.MemorySame && r.receipt.Run == w.run.Num && action != state.UpdateMetadata: // sent before the run was listed again: it counts as done
		return nil
	case action == state.Unchanged && r.memory == migrate.MemorySame:
		return w.countUnchanged(ctx, r.receipt)
	}
	return w.addIn(ctx, state.Item{Object: o}, s, r.receipt, r.approved)
}

// seeSentinel records the object whose presence shows that the source is complete.
func (w *walk) seeSentinel(o sources.Object) {
	if o.Key == w.SafetyChecks.Sentinel && o.Obstacle == "" {
		w.sentinel = true
	}
}

// checkSentinel fails if the whole source was listed, and the object that must be there was
// not.
func (w *walk) checkSentinel() error {
	if w.SafetyChecks.Sentinel == "" || w.sentinel || w.run.Cursor != "" {
		return nil
	}
	return w.SafetyChecks.MissingSentinel()
}

// end ends a listing that is whole.
func (w *walk) end(ctx context.Context) error {
	if w.overlaps() {
		return w.division.overlap
	}
	if err := w.checkSentinel(); err != nil {
		return w.notThere(ctx, err)
	}
	if err := w.known.receipts.Rest(); err != nil {
		return err
	}
	if err := w.countDeleted(ctx); err != nil {
		return w.notThere(ctx, err)
	}
	if err := w.known.rest(); err != nil { // of a source that is there
		return err
	}
	if err := w.stageMissing(ctx); err != nil {
		return err
	}
	if err := w.stageVanished(ctx, ""); err != nil {
		return err
	}
	w.page.Done = true
	return w.flush(ctx)
}

// notThere ends the listing of a source that is missing or incomplete. A sync ends as stopped, so
// that its report shows it; other runs can be resumed when the source is available again.
func (w *walk) notThere(ctx context.Context, why error) error {
	err := errors.Join(why, w.flush(ctx))
	if w.Rules.Sync != nil {
		err = errors.Join(err, w.State.NoteSync(ctx, w.run.Num, why.Error(), ""))
	}
	return err
}

// disorder ends a listing in which a key comes after a greater one. Keys before it may have been
// skipped, so the whole listing is forgotten.
func (w *walk) disorder(ctx context.Context, key sources.Key) error {
	err := fmt.Errorf("the source listed %q after %q: its listing is not sorted and cannot be used", key, w.page.Cursor)
	return errors.Join(err, w.writing.Wait(), w.State.Relist(ctx, w.run.Num))
}

// countDeleted counts the uploaded objects that are not listed any more, unless another process has
// listed a part.
func (w *walk) countDeleted(ctx context.Context) error {
	if w.run.Cursor != "" {
		return nil
	}
	if w.division != nil {
		w.deleted.objects = w.unlisted.missed
		if known := w.met + w.unlisted.missed; w.division.own == 0 && known > 0 {
			return &migrate.EmptySourceError{Known: known, Wave: w.Rules.Wave.Name}
		}
		return nil
	}
	known, err := w.State.SumReceipts(ctx, w.run.Pair.ID)
	if err != nil {
		return err
	}
	if w.listed == 0 && known.Objects > 0 {
		return &migrate.EmptySourceError{Known: known.Objects}
	}
	w.deleted.objects = known.Objects - w.met
	return nil
}

// stageMissing adds the keys that the user named and the source does not have.
func (w *walk) stageMissing(ctx context.Context) error {
	for key := range w.unseen {
		_, err := w.State.Item(ctx, w.run.Num, key)
		if errors.Is(err, state.ErrNotFound) {
			// A part of the listing that was done before may have found it unchanged.
			if _, err = w.State.Receipt(ctx, w.run.Pair.ID, key); errors.Is(err, state.ErrNotFound) {
				err = w.add(ctx, state.Item{Object: sources.Object{Key: key, Obstacle: sources.Obstacle(migrate.ReasonMissingAtSource)}})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAlias reports whether an object still is an alias by its fingerprint, and no other decision
// about it is needed.
func (w *walk) isAlias(o sources.Object, a state.Alias, approved state.Item, isApproved bool) bool {
	s := w.situation(o, migrate.MemorySame, state.Receipt{}, approved, isApproved)
	switch {
	case !sameFingerprint(o, a.Object, w.Source.Traits().Precision):
		return false
	case a.Run != w.run.Num && isApproved && acts(approved): // another action was approved for it
		return false
	case w.trust(migrate.MemorySame) != migrate.MemorySame: // to be read again
		return false
	}
	return s.Skipped == "" && s.Failed == ""
}

// passAlias counts an object that is an alias and has not changed.
func (w *walk) passAlias(ctx context.Context, a state.Alias) error {
	w.chain.pass(a.Key)
	w.listed++
	w.Watch.Progress(1, 0)
	if a.Run == w.run.Num { // joined before the run was listed again: it counts as done
		return nil
	}
	name, extension := migrate.SplitName(path.Base(string(a.Key)))
	return w.countUnchanged(ctx, state.Receipt{Object: a.Object, Name: name, Extension: extension})
}

// sidecar handles a listed file that may be a sidecar, and reports whether it is one, or whether
// that is decided later.
func (w *walk) sidecar(ctx context.Context, o sources.Object) (taken bool, err error) {
	owner, ok := metadata.OwnerOf(string(o.Key))
	if !ok || !w.FollowsSidecars() || o.Obstacle != "" || migrate.IsJunk(o.Key) || migrate.MatchAny(w.Rules.Exclude, o.Key) {
		return false, nil
	}
	known, remembered, err := w.known.sidecars.Find(o.Key)
	if err != nil {
		return false, err
	}
	i := state.Item{Object: o}
	here := w.chain.has(string(o.Key), owner)
	remembered = remembered && (known.Missed == 0 || here) // otherwise it may be an object now
	switch same := remembered && sameFingerprint(o, known.Object, w.Source.Traits().Precision); {
	case same && !known.Pending:
		w.reappeared(known)
		w.page.UnchangedBytes += o.Size
		if w.page.Unchanged++; w.page.Unchanged < unchangedPage {
			return true, nil
		}
		return true, w.stage(ctx)
	case remembered, here:
		migrate.SetDecision(&i, state.Skip, migrate.ReasonSidecar)
		switch {
		case w.listing.claimed && !remembered:
			w.listing.unrecorded = true // its item is enough: see collect.Collector.RecordSidecars
		case w.listing.claimed, !same:
			w.page.Sidecars = append(w.page.Sidecars, w.newSidecar(i))
		}
	default:
		i.Obstacle = maybeSidecar
		w.listing.possibleSidecars, w.listing.claimed = true, false
	}
	return true, w.add(ctx, i)
}

// claimsAtOnce reports whether the run can claim all sidecars without a look at their objects. That is
// so if no asset exists that they may describe.
func (w *walk) claimsAtOnce(ctx context.Context) (bool, error) {
	if !w.listing.decided || w.run.Cursor != "" || w.onlyFailed() != nil {
		return false, nil
	}
	known, err := w.State.SumReceipts(ctx, w.run.Pair.ID)
	return known.Objects == 0, err
}

func (w *walk) newSidecar(i state.Item) state.Sidecar {
	c := asSidecar(i)
	if w.listing.claimed {
		c.Claimed = w.run.Num
	}
	return c
}

// stageVanished stages the objects of an approved plan that the listing has skipped, up to a key or
// to its end. They may be in the folder that was listed last and could not be read.
func (w *walk) stageVanished(ctx context.Context, key sources.Key) error {
	for {
		approved, found, err := w.known.approved.before(key)
		if err != nil || !found {
			return err
		}
		i := state.Item{Object: approved.Object}
		i.Obstacle = migrate.ObstacleVanished
		known, _, err := w.known.memory(i.Object)
		switch {
		case err != nil:
			return err
		case approved.Reason == string(migrate.ReasonMissingAtSource):
			i.Obstacle = sources.Obstacle(migrate.ReasonMissingAtSource)
		case !acts(approved), known == migrate.MemorySame: // or it was uploaded before it was deleted
			continue
		case w.unlisted.unread.hides(i.Key):
			i.Obstacle = sources.UnreadableDirectory
		}
		w.page.Cursor = i.Key
		if err := w.add(ctx, i); err != nil {
			return err
		}
	}
}
