package apply

import (
	"context"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// postpone schedules a retry of an item that failed for a reason that may pass, while it has
// attempts left. Failures of all items do not use up attempts.
func (d *dispatcher) postpone(r result) state.Outcome {
	o, most := r.outcome, len(d.RetryPauses)
	onlyDescribes := o.InsteadOf != "" // metadata is left to the next run
	spent := most == 0 || onlyDescribes || r.item.Attempts > most && d.streak.trying.IsZero()
	if o.State != state.ItemFailed || !retry.Class(o.Class).Repeatable() || spent {
		return o
	}
	o.State = state.ItemRetryScheduled
	o.RetryAt = clock.Now().Add(max(r.asked, d.RetryPauses[min(max(r.item.Attempts, 1), most)-1]))
	return o
}

// await notes when an item will be tried again.
func (d *dispatcher) await(due time.Time) {
	if d.nextDue.IsZero() || due.Before(d.nextDue) {
		d.nextDue = due
	}
	faultpoint.Hit(faultpoint.Waited)
}

// findDue reads the next item scheduled for retry.
func (d *dispatcher) findDue(ctx context.Context) (err error) {
	d.nextDue, _, err = d.State.NextRetry(ctx, d.run.Num)
	return err
}

// dueIn returns how long after now the next retry is due. It returns 0 if that is longer than the
// longest pause: then this machine's clock was set back.
func (d *dispatcher) dueIn(now time.Time) time.Duration {
	in, longest := d.nextDue.Sub(now), retry.MaxRetryAfter
	for _, pause := range d.RetryPauses {
		longest = max(longest, pause)
	}
	if in > longest {
		return 0
	}
	return in
}

// wake takes the items that are due.
func (d *dispatcher) wake(ctx context.Context) error {
	now := clock.Now()
	if d.stopping || d.confirmOnly || d.nextDue.IsZero() || d.dueIn(now) > 0 || len(d.queue) > d.Concurrency/2 {
		return nil
	}
	if d.nextDue.After(now) {
		now = d.nextDue
	}
	items, err := d.State.TakeDue(ctx, d.run.Num, now, min(2*d.Concurrency, holdMost), d.Now())
	if err != nil {
		return err
	}
	if err := d.nextVersions(ctx, items); err != nil {
		return err
	}
	d.queue, d.since = append(d.queue, items...), time.Time{}
	faultpoint.Hit(faultpoint.Taken)
	return d.findDue(ctx)
}

// stays reports whether the run waits for the next retry when nothing else is left.
func (d *dispatcher) stays() bool {
	if d.confirmOnly || d.nextDue.IsZero() {
		return false
	}
	reported := !d.since.IsZero()
	if !reported {
		d.since = clock.Now()
	}
	in := d.dueIn(d.since)
	stays := in <= d.Wait
	if !reported && in > migrate.MinReportedWait {
		d.Watch.WaitingForRetries(d.nextDue, stays)
	}
	return stays
}
