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
	run := d.run
	d.Watch.Phase(PhaseScan, -1, -1)
	if d.decided, err = d.decidesAtOnce(ctx); err != nil {
		return err
	}
	memory, stop := d.remembered(ctx, run.Pair.ID, run.Cursor)
	defer stop()
	approvals := d.approvals(run.Cursor)
	defer approvals.close()
	unread := "" // the folder listed last, if it could not be read
	page := state.Page{Cursor: run.Cursor}
	flush := func() error {
		err := d.Journal.Stage(ctx, run.Num, page)
		faultpoint.Hit(faultpoint.Staged)
		if d.decided {
			faultpoint.Hit(faultpoint.Decided)
			d.judged += int64(len(page.Items))
		}
		page = state.Page{Cursor: page.Cursor}
		return err
	}
	for o, err := range d.Source.Objects(ctx, sources.Key(run.Cursor)) {
		if err != nil {
			return errors.Join(err, flush())
		}
		if string(o.Key) <= page.Cursor && page.Cursor != "" {
			return d.disorder(ctx, run, o.Key, page.Cursor)
		}
		if err := d.stageVanished(approvals, string(o.Key), unread, memory, &page, flush); err != nil {
			return err
		}
		if unread = ""; o.Obstacle.HidesObjects() {
			unread = string(o.Key)
		}
		page.Cursor = string(o.Key)
		known, receipt, err := memory(o)
		if err != nil {
			return err
		}
		approved, isApproved, err := approvals.of(string(o.Key))
		if err != nil {
			return err
		}
		delete(d.unseen, o.Key)
		if known != Unknown {
			d.met++
		}
		d.listed++
		d.Watch.Progress(1, 0)
		s := d.situation(o, known, receipt, approved, isApproved)
		action, _ := Decide(s, d.Rules)
		switch {
		case known == Same && receipt.Run == run.Num && action != state.Describe: // sent before the run was listed again: it counts as done
		case action == state.Unchanged:
			page.Unchanged++
			page.UnchangedBytes += o.Size
			if d.Unchanged != nil {
				d.Unchanged(receipt)
			}
		default:
			i := staged(o)
			if d.decided {
				if err := d.judge(ctx, &i, s, receipt, approved); err != nil {
					return err
				}
			}
			page.Items = append(page.Items, i)
		}
		if len(page.Items) >= stagePage || page.Unchanged >= unchangedPage {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := d.countGone(ctx, run); err != nil {
		return errors.Join(err, flush())
	}
	if err := d.stageMissing(ctx, run, &page); err != nil {
		return err
	}
	if err := d.stageVanished(approvals, "", unread, memory, &page, flush); err != nil {
		return err
	}
	page.Done = true
	return flush()
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
func (p *Planner) disorder(ctx context.Context, run state.Run, key sources.Key, after string) error {
	err := fmt.Errorf("the source listed %q after %q: its listing is not in order and cannot be trusted", key, after)
	return errors.Join(err, p.Journal.Relist(ctx, run.Num))
}

// An EmptySourceError says that a source from which objects have arrived lists
// none: it is rather not there than empty.
type EmptySourceError struct{ Known int64 }

func (e *EmptySourceError) Error() string {
	return fmt.Sprintf("the source lists nothing, but objects of it have arrived before (%d)", e.Known)
}

// countGone counts what has arrived before and is not listed any more, unless a
// part of the listing was done by a former process.
func (p *Planner) countGone(ctx context.Context, run state.Run) error {
	if run.Cursor != "" {
		return nil
	}
	known, err := p.Journal.SumReceipts(ctx, run.Pair.ID)
	if err != nil {
		return err
	}
	if p.listed == 0 && known.Objects > 0 {
		return &EmptySourceError{known.Objects}
	}
	p.gone = known.Objects - p.met
	return nil
}

// stageMissing adds the keys that the user named and the source does not have.
func (p *Planner) stageMissing(ctx context.Context, run state.Run, page *state.Page) error {
	for key := range p.unseen {
		_, err := p.Journal.Item(ctx, run.Num, string(key))
		if errors.Is(err, state.ErrNotFound) {
			// A part of the listing that was done before may have found it unchanged.
			if _, err = p.Journal.Receipt(ctx, run.Pair.ID, string(key)); errors.Is(err, state.ErrNotFound) {
				page.Items = append(page.Items, state.Item{Key: string(key), Obstacle: string(ReasonMissing)})
				continue
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
func (p *Planner) lacksDescription(r state.Receipt) bool { return r.Undescribed && p.Describes }

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
