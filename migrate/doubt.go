package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assetferry/internal/retry"
	"assetferry/state"
)

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
