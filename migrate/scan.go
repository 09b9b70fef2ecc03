package migrate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/sources"
	"assetferry/state"
)

// A crash loses at most a page of a listing.
const (
	stagePage     = 1000   // items that go into the journal in one transaction
	unchangedPage = 10_000 // objects that are only counted, for which alone the disk need not be flushed that often
)

// scan lists the source from where the run's listing stopped and stages what is
// not as the journal remembers it. Where it can, it stages decisions: to store them
// later takes longer than all the rest of a plan.
func (d *decider) scan(ctx context.Context) (err error) {
	d.Watch.Phase(PhaseScan, -1, -1)
	if d.decided, err = d.decidesAtOnce(ctx); err != nil {
		return err
	}
	defer d.walkBeside(ctx, d.run.Cursor)()
	w := walk{decider: d, page: state.Page{Cursor: d.run.Cursor}}
	for o, err := range d.Source.Objects(ctx, sources.Key(d.run.Cursor)) {
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
	*decider
	page   state.Page // to be staged next
	unread string     // the folder listed last, if it could not be read
}

// object takes an object of the listing.
func (w *walk) object(ctx context.Context, o sources.Object) error {
	key := string(o.Key)
	if key <= w.page.Cursor && w.page.Cursor != "" {
		return w.disorder(ctx, key)
	}
	if err := w.stageVanished(ctx, key); err != nil {
		return err
	}
	if w.unread = ""; o.Obstacle.HidesObjects() {
		w.unread = key
	}
	w.page.Cursor = key
	known, receipt, err := w.memory(o)
	if err != nil {
		return err
	}
	approved, isApproved, err := w.approved.of(key)
	if err != nil {
		return err
	}
	delete(w.unseen, o.Key)
	if known != Unknown {
		w.met++
	}
	w.listed++
	w.Watch.Progress(1, 0)
	s := w.situation(o, known, receipt, approved, isApproved)
	if err := w.redescribe(&s, o, isApproved); err != nil {
		return err
	}
	action, _ := Decide(s, w.Rules)
	switch {
	case known == Same && receipt.Run == w.run.Num && action != state.Describe: // sent before the run was listed again: it counts as done
		return nil
	case action == state.Unchanged:
		return w.countUnchanged(ctx, receipt)
	}
	i := staged(o)
	if w.decided {
		if err := w.judge(ctx, &i, s, receipt, approved); err != nil {
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
	if w.page.Items = append(w.page.Items, i); len(w.page.Items) < stagePage {
		return nil
	}
	return w.stage(ctx)
}

func (w *walk) stage(ctx context.Context) error {
	err := w.Journal.Stage(ctx, w.run.Num, w.page)
	faultpoint.Hit(faultpoint.Staged)
	if w.decided {
		faultpoint.Hit(faultpoint.Decided)
		w.judged += int64(len(w.page.Items))
	}
	w.page = state.Page{Cursor: w.page.Cursor}
	return err
}

// end ends a listing that is whole.
func (w *walk) end(ctx context.Context) error {
	if err := w.countGone(ctx); err != nil {
		return errors.Join(err, w.stage(ctx))
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

// walkBeside has what the journal remembers and what was approved walk beside the
// objects after a key, until stop.
func (d *decider) walkBeside(ctx context.Context, after string) (stop func()) {
	memory, forget := d.remembered(ctx, d.run.Pair.ID, after)
	anew, forgetMore := d.redescribed(ctx, d.run.Pair.ID, after)
	d.memory, d.anew, d.approved = memory, anew, d.approvals(after)
	return func() {
		forget()
		forgetMore()
		d.approved.close()
	}
}

// decidesAtOnce reports whether objects can be decided while they are listed. Then all of
// them are listed in order by this process: what was staged before, and an outcome from a
// former listing, have a part in the decisions, but only once they are decided anew.
func (d *decider) decidesAtOnce(ctx context.Context) (bool, error) {
	if d.Approval != nil || d.Rules.FilesFrom != nil {
		return false, nil
	}
	for _, err := range d.Journal.Items(ctx, d.run.Num) {
		return false, err
	}
	return true, nil
}

// disorder ends a listing in which a key comes after a greater one. What it has left
// out before that nobody knows, so all of it is forgotten.
func (w *walk) disorder(ctx context.Context, key string) error {
	err := fmt.Errorf("the source listed %q after %q: its listing is not in order and cannot be trusted", key, w.page.Cursor)
	return errors.Join(err, w.Journal.Relist(ctx, w.run.Num))
}

// An EmptySourceError says that a source from which objects have arrived lists
// none: it is rather not there than empty.
type EmptySourceError struct{ Known int64 }

func (e *EmptySourceError) Error() string {
	return fmt.Sprintf("the source lists nothing, but objects of it have arrived before (%d)", e.Known)
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
		return &EmptySourceError{known.Objects}
	}
	w.gone = known.Objects - w.met
	return nil
}

// stageMissing adds the keys that the user named and the source does not have.
func (w *walk) stageMissing(ctx context.Context) error {
	for key := range w.unseen {
		_, err := w.Journal.Item(ctx, w.run.Num, string(key))
		if errors.Is(err, state.ErrNotFound) {
			// A part of the listing that was done before may have found it unchanged.
			if _, err = w.Journal.Receipt(ctx, w.run.Pair.ID, string(key)); errors.Is(err, state.ErrNotFound) {
				err = w.add(ctx, state.Item{Key: string(key), Obstacle: string(ReasonMissing)})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failed gives the reason why an object that is meant to be taken cannot be.
func failed(o sources.Object) Reason {
	switch {
	case o.Obstacle == sources.Obstacle(ReasonMissing):
		return ReasonMissing
	case o.Obstacle.IsFailure():
		return ReasonUnreadable
	}
	return ""
}

func staged(o sources.Object) state.Item {
	return state.Item{Key: string(o.Key), Size: o.Size, Time: o.Time, VersionTag: o.VersionTag, Obstacle: string(o.Obstacle)}
}

// object is a staged item as the source listed it.
func object(i state.Item) sources.Object {
	return sources.Object{
		Key: sources.Key(i.Key), Size: i.Size, Time: i.Time, VersionTag: i.VersionTag, Obstacle: sources.Obstacle(i.Obstacle),
	}
}

// recall tells what the journal knows of an object.
type recall func(sources.Object) (Memory, state.Receipt, error)

// remembered gives a recall for objects in key order.
func (p *Planner) remembered(ctx context.Context, pair int64, after string) (_ recall, stop func()) {
	receipts := p.Journal.Fingerprints
	if p.Unchanged != nil { // which is told of all that is in them
		receipts = p.Journal.Receipts
	}
	find, stop := sideBySide(receipts(ctx, pair, after), func(r state.Receipt) string { return r.Key })
	precision := p.Source.Traits().Precision
	return func(o sources.Object) (Memory, state.Receipt, error) {
		receipt, known, err := find(string(o.Key))
		switch {
		case err != nil || !known:
			return Unknown, state.Receipt{}, err
		case sameFingerprint(o, receipt.Size, receipt.Time, receipt.VersionTag, precision):
			return Same, receipt, nil
		}
		return Changed, receipt, nil
	}, stop
}

// lacksDescription reports whether an asset is still to be described, by who can.
func (p *Planner) lacksDescription(r state.Receipt) bool {
	return r.Undescribed && (p.Describes || p.Describer != nil)
}

// redescribe has an asset described anew if the source says something else of its object,
// unless an approved plan knows nothing of that.
func (d *decider) redescribe(s *Situation, o sources.Object, approved bool) (err error) {
	if d.anew == nil || s.LeftOut != "" || s.Memory == Unknown || d.Approval != nil && !approved {
		return nil
	}
	s.Redescribed, err = d.anew(o.Key)
	return err
}

// sideBySide walks rows in key order next to a listing in key order: find gives
// the row of a key, which must be greater than the one asked for before.
func sideBySide[T any](rows iter.Seq2[T, error], key func(T) string) (find func(string) (T, bool, error), stop func()) {
	next, stop := iter.Pull2(rows)
	row, err, more := next()
	return func(wanted string) (found T, known bool, _ error) {
		for more && err == nil && key(row) < wanted {
			row, err, more = next()
		}
		if err != nil || !more || key(row) != wanted {
			return found, false, err
		}
		return row, true, nil
	}, stop
}

// sameFingerprint compares the cheap signs of change; a side that does not know
// a sign has no say.
func sameFingerprint(o sources.Object, size int64, modified time.Time, tag string, precision time.Duration) bool {
	if o.Size != size {
		return false
	}
	if o.VersionTag != "" && tag != "" && o.VersionTag != tag {
		return false
	}
	return o.Time.IsZero() || modified.IsZero() || o.Time.Sub(modified).Abs() < max(precision, 1)
}
