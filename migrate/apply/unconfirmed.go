package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A pending is an item of which it is unknown whether it was uploaded. It is checked twice: at
// once, because most assets are visible by then, and when it is due, because later it will not
// appear. Its container is listed completely before it is uploaded again; see lookThroughAll.
type pending struct {
	item   state.Item
	due    time.Time
	looked bool
	unseen bool // it is due, and only a complete listing is left to do
	fresh  bool // it arose in this process
	failed int  // failed checks in a row
}

// maxLooks is the number of failed checks after which a process gives up.
const maxLooks = 3

// pending adds an unconfirmed item that may appear until a time. That counts from now: an upload
// may have taken long since its intent.
func (d *dispatcher) pending(i state.Item, due time.Time, fresh bool) {
	if i.Action == state.Adopt {
		due = clock.Now() // it changes nothing at the destination
	}
	d.unconfirmed = append(d.unconfirmed, pending{item: i, due: due, fresh: fresh})
	d.unconfirmedOf.add(i, 1)
	if fresh {
		d.fresh++
	}
}

// pausesUploads reports whether uploads pause because too many items are unconfirmed, or because
// one item at a time is tried: more requests do not help a failing service.
func (d *dispatcher) pausesUploads() bool {
	return d.fresh >= d.Concurrency || !d.streak.trying.IsZero() && d.inHand+d.fresh > 0
}

// namesakes count items by place and name.
type namesakes map[int64]int

func (n namesakes) add(i state.Item, count int) {
	if n[i.Slot] += count; n[i.Slot] == 0 {
		delete(n, i.Slot)
	}
}

// has reports whether there is an item with the same place and name.
func (n namesakes) has(i state.Item) bool { return i.Slot != 0 && n[i.Slot] > 0 }

// look starts to check unconfirmed items while uploads go on. The outcomes of earlier items are
// written first: an asset without a receipt could be matched to an unconfirmed item with the same
// name and content. For the same reason no worker has an item of that name meanwhile.
func (d *dispatcher) look(ctx context.Context) error {
	if d.resolving || d.stopping {
		return nil
	}
	now, atRest := clock.Now(), d.isAtRest()
	var ready, later []pending
	for _, q := range d.unconfirmed {
		if q.looked && now.Before(q.due) || d.inHandOf.has(q.item) {
			later = append(later, q)
		} else {
			ready = append(ready, q)
		}
	}
	if !atRest && !slices.ContainsFunc(ready, func(q pending) bool { return !q.unseen }) {
		return nil
	}
	if err := d.record(ctx); err != nil {
		return err
	}
	d.unconfirmed, d.resolving = later, true
	ctx = retry.WithDrain(ctx, d.Stop)
	go func() { d.confirmed <- d.confirmAll(ctx, d.structure, ready, now, atRest) }()
	return nil
}

// isAtRest reports whether nothing is left to do before whole containers are listed for lost
// uploads. Later items may depend on the result.
func (d *dispatcher) isAtRest() bool {
	if len(d.unconfirmed) == 0 || d.inHand > 0 || slices.ContainsFunc(d.unconfirmed, func(q pending) bool { return !q.unseen }) {
		return false
	}
	if len(d.queue) > 0 {
		return d.unconfirmedOf.has(d.queue[0])
	}
	return d.exhausted
}

// reportUnconfirmed reports that the run waits, when only unconfirmed items are left or uploads
// pause for them.
func (d *dispatcher) reportUnconfirmed() {
	onlyUnconfirmed := d.exhausted && len(d.queue) == 0
	if d.stopping || d.resolving || d.inHand > 0 || !onlyUnconfirmed && !d.pausesUploads() || len(d.unconfirmed) == d.reported {
		return
	}
	var until time.Time
	why := ""
	for _, q := range d.unconfirmed {
		if !q.looked {
			return // most assets are visible by then
		}
		if q.due.After(until) {
			until, why = q.due, q.item.Error
		}
	}
	now := clock.Now()
	if until.Sub(now) < migrate.MinReportedWait || now.Sub(d.reportedAt) < reportEvery {
		return
	}
	d.reported, d.reportedAt = len(d.unconfirmed), now
	d.Watch.AwaitingConfirmation(d.reported, confirmed(why), until)
}

// reportEvery is the time between such reports.
const reportEvery = 10 * time.Second

// learn records the findings about unconfirmed items. Items that did not arrive are uploaded again,
// with a new intent, unless that has failed too often.
func (d *dispatcher) learn(ctx context.Context, findings []finding) error {
	faultpoint.Hit(faultpoint.Looked)
	if ctx.Err() != nil { // which is why less was found out than could be
		d.stop(context.Cause(ctx))
	}
	var again []finding
	var broken error
	for _, f := range findings {
		if f.receipt == nil && (!f.final || f.later || d.stopping || d.mayLookAgain(&f)) {
			f.looked = true
			d.unseen(&f)
			d.unconfirmed = append(d.unconfirmed, f.pending)
			if migrate.HasClass(f.err, retry.Fatal) && broken == nil { // one look has the same error for all
				broken = f.err
			}
			continue
		}
		d.unconfirmedOf.add(f.item, -1)
		if f.fresh && !f.unseen {
			d.fresh--
		}
		switch {
		case f.receipt != nil:
			if !f.fresh { // or its bytes were counted as they were sent
				d.Watch.Progress(0, f.item.Size)
			}
			d.found(f)
		case f.isUnknown():
			broken = errors.Join(broken, d.stopLooking(f))
		case f.err != nil:
			broken = errors.Join(broken, d.leaveUnconfirmed(f))
		case d.mayResend(f):
			again = append(again, f)
		default:
			broken = errors.Join(broken, d.failUnconfirmed(f))
		}
	}
	if err := errors.Join(broken, d.record(ctx)); err != nil || d.stopping || len(again) == 0 {
		return err
	}
	return d.resend(ctx, again)
}

// unseen lets the rest of the run continue while an item has to be searched for in its whole
// container.
func (d *dispatcher) unseen(f *finding) {
	if !f.later || f.unseen {
		return
	}
	if f.unseen = true; f.fresh {
		d.fresh--
	}
}

// mayLookAgain waits a little after a failed check that may pass.
func (d *dispatcher) mayLookAgain(f *finding) bool {
	class, _ := retry.Classify(f.err)
	if f.err == nil || f.isUnknown() || !class.Repeatable() || f.failed+1 >= maxLooks {
		return false
	}
	f.failed++
	f.due = clock.Now().Add(d.ConfirmTimeout)
	return true
}

// stopLooking ends the search for an item without a result.
func (d *dispatcher) stopLooking(f finding) error {
	o := f.outcome()
	d.add(f.item, o)
	if o.State == state.ItemChanged { // it changed; that happens
		return nil
	}
	return d.failed(o, "not confirmed: "+alike(f.item, f.err))
}

// leaveUnconfirmed leaves an item unconfirmed for another process, because the source or the
// service does not answer.
func (d *dispatcher) leaveUnconfirmed(f finding) error {
	o := f.outcome()
	d.unknown++
	d.add(f.item, o)
	if migrate.HasClass(f.err, retry.Fatal) {
		return f.err
	}
	return d.failed(o, "not confirmed: "+alike(f.item, f.err))
}

// found records that an unconfirmed item arrived, and completes it.
func (d *dispatcher) found(f finding) {
	o := f.outcome()
	d.streak = failureStreak{}
	if o.Misnamed && d.updatesMetadata() {
		o.Misnamed = false // it lacks its metadata, too, which the next run writes
	} else if f.item.Action != state.Adopt && f.item.VersionNum == 0 && d.updatesMetadata() && !f.unverifiable { // the next run updates metadata of changed objects
		o.State = state.ItemSent
		if f.item.State, f.item.Asset, f.item.Class, f.item.Error = state.ItemSent, f.receipt.Asset, "", o.Error; !d.stopping {
			d.queue = append(d.queue, f.item)
		}
	}
	d.add(f.item, o)
}

// mayResend counts an upload of this process that did not arrive, and reports whether another one
// is allowed. Uploads of former processes do not count: they were interrupted.
func (d *dispatcher) mayResend(f finding) bool {
	if f.fresh {
		d.sends[f.item.Key]++
	}
	return d.sends[f.item.Key] < maxSends
}

// failUnconfirmed fails an item that leaves no trace at the destination after several uploads.
func (d *dispatcher) failUnconfirmed(f finding) error {
	why := fmt.Sprintf("uploaded %d times, but not found at the destination", maxSends)
	o := state.Outcome{Key: f.item.Key, State: state.ItemFailed, Class: string(retry.Transient), Error: why + "; the last answer: " + confirmed(f.item.Error)}
	delete(d.sends, f.item.Key)
	d.add(f.item, o)
	return d.breaker(result{item: f.item, outcome: o, alike: why})
}

func (d *dispatcher) resend(ctx context.Context, again []finding) error {
	keys := make([]sources.Key, len(again))
	for n, f := range again {
		keys[n] = f.item.Key
	}
	now := d.Now()
	if err := d.State.Resend(ctx, d.run.Num, keys, now); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.Resent)
	if d.confirmOnly {
		return d.State.Release(ctx, d.run.Num, keys)
	}
	for _, f := range again {
		if f.fresh {
			d.Watch.Progress(0, -f.item.Size) // they will be sent again
		}
		f.item.IntentAt, f.item.State = now, state.ItemSending
		f.item.Attempts++
		d.queue = append(d.queue, f.item)
	}
	return nil
}
