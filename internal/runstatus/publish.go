// Package runstatus publishes the status of runs: to a file of metrics, to notifications, to a
// terminal that follows the run of another process, and as a trend of the last runs.
package runstatus

import (
	"cmp"
	"context"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/metrics"
	"assetferry/internal/notify"
	"assetferry/state"
)

// Options define the run whose status is published, and where.
type Options struct {
	File     string // of metrics; empty: none
	Notifier *notify.Notifier
	Command  string
	Version  string
	Labels   metrics.Labels

	Complete func([]state.Tally) bool  // reports whether no work is left
	Sent     func([]state.Tally) int64 // bytes
}

// A Publisher publishes the status of a run to a file of metrics and to notifications. It also
// publishes runs that could not start, except after errors in the settings, which name the targets.
type Publisher struct {
	Options
	Line string // the result of the run, unless an error ended it

	began  time.Time // of the process; includes the monotonic clock
	run    metrics.Run
	failed event.Error // the error that ended it
}

// New returns a publisher for a run that is about to start.
func New(o Options) *Publisher {
	return &Publisher{Options: o, began: time.Now(), run: metrics.Run{Labels: o.Labels, Version: o.Version, Began: clock.Now()}}
}

// Start publishes the start of a run.
func (b *Publisher) Start(ctx context.Context, pair state.Pair) {
	b.run.Source, b.run.Destination = pair.Source, pair.Destination
	b.Notifier.Start(ctx, b.message(notify.Start, clock.Now()))
}

// Fail records an error that ends the run, and whether a safety check found it. The first error
// counts.
func (b *Publisher) Fail(e event.Error, guarded bool) {
	b.failed = cmp.Or(b.failed, e)
	b.run.Guarded = b.run.Guarded || guarded
}

// End publishes the result of the run. Its errors do not make the run fail.
func (b *Publisher) End(exit int, class string, success bool, summary *event.Summary) (notifyErrs []error, metricsErr error) {
	b.run.Ended, b.run.Exit, b.run.Success = clock.Now(), exit, success
	if b.File != "" {
		metricsErr = b.writeMetrics()
	}
	event := notify.Failure
	if success {
		event = notify.Success
	}
	m := b.message(event, b.run.Ended)
	b.complete(&m, class, summary)
	return b.Notifier.Finish(context.Background(), m), metricsErr
}

// Load reads the metrics that come from the state database.
func (b *Publisher) Load(ctx context.Context, store *state.Store, pair int64, id string) error {
	known, err := store.Known(ctx, pair)
	if err != nil {
		return err
	}
	b.run.Known = (*metrics.Known)(&known)
	if id != "" {
		run, err := store.Run(ctx, id)
		if err != nil {
			return err
		}
		tallies, err := store.Tallies(ctx, run.Num)
		if err != nil {
			return err
		}
		b.run.Plan = b.planOf(tallies)
	}
	if b.File != "" {
		b.run.LastSuccess, err = b.lastSuccess(ctx, store, pair)
	}
	return err
}

// planOf counts the objects of a run by action and by state. Zeros are included, because missing
// values make gaps in graphs.
func (b *Publisher) planOf(tallies []state.Tally) *metrics.Plan {
	p := &metrics.Plan{Actions: map[string]int64{}, States: map[string]int64{}, SentBytes: b.Sent(tallies)}
	for _, action := range []state.Action{state.Create, state.Adopt, state.Replace, state.UpdateMetadata, state.Move, state.Trash, state.Unchanged, state.Skip, state.Conflict} {
		p.Actions[string(action)] = 0
	}
	for _, is := range []state.ItemState{
		state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemDone, state.ItemRetryScheduled, state.ItemFailed,
		state.ItemRetriesExhausted, state.ItemChanged, state.ItemSkipped, state.ItemConflict, state.ItemUnconfirmed,
	} {
		p.States[string(is)] = 0
	}
	for _, t := range tallies {
		if t.Action != "" {
			p.Actions[string(t.Action)] += t.Objects
		}
		p.States[string(t.State)] += t.Objects
	}
	return p
}

// lastSuccess returns when the last run without remaining objects ended, among the last runs.
func (b *Publisher) lastSuccess(ctx context.Context, store *state.Store, pair int64) (time.Time, error) {
	const enough = 50
	runs, err := store.RunsOf(ctx, pair, enough)
	if err != nil {
		return time.Time{}, err
	}
	for _, run := range runs {
		if run.State != state.Finished || run.Undoes != 0 {
			continue
		}
		tallies, err := store.Tallies(ctx, run.Num)
		if err != nil {
			return time.Time{}, err
		}
		if b.Complete(tallies) {
			return run.FinishedAt, nil
		}
	}
	return time.Time{}, nil
}

// writeMetrics writes the file. Values that this run does not know come from the previous file, so
// that a run that could not start does not end a series.
func (b *Publisher) writeMetrics() error {
	former, success := metrics.Former(b.File)
	if b.run.Destination == "" && former.Job == b.run.Job && former.Source == b.run.Source {
		b.run.Destination = former.Destination
	}
	switch {
	case b.run.Success:
		b.run.LastSuccess = b.run.Ended
	case former == b.run.Labels && !success.IsZero(): // it counts exit code 7, too, which the state database does not know
		b.run.LastSuccess = success
	}
	return metrics.Write(b.File, b.run)
}

// message returns the fields that all notifications have.
func (b *Publisher) message(event notify.Event, at time.Time) notify.Message {
	return notify.Message{
		Event: event, Time: at.UTC().Format(time.RFC3339), Tool: "assetferry " + b.Version, Command: b.Command,
		Job: b.run.Job, Source: b.run.Source, Destination: b.run.Destination,
	}
}

// complete adds the result of the run to a notification.
func (b *Publisher) complete(m *notify.Message, class string, summary *event.Summary) {
	seconds := time.Since(b.began).Round(time.Millisecond).Seconds()
	m.Exit, m.Class, m.Seconds = &b.run.Exit, class, &seconds
	m.Message, m.Hint = cmp.Or(b.failed.Message, b.Line), b.failed.Hint
	if b.run.Plan != nil {
		m.Actions, m.States, m.Bytes = summary.Actions, summary.States, &b.run.Plan.SentBytes
	}
	if summary.Run != "" {
		m.Run, m.Report = summary.Run, "assetferry report --run "+summary.Run
	}
}
