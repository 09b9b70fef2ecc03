// Package runstatus tells how runs stand: to a file of metrics and to notifications, to a
// terminal that follows the run of another process, and as what the last ones have in common.
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

// Options say who hears of a run, and of which.
type Options struct {
	File     string // of metrics; empty: nobody wants any
	Notifier *notify.Notifier
	Command  string
	Version  string
	Labels   metrics.Labels

	Complete func([]state.Tally) bool  // nothing is left to be done
	Sent     func([]state.Tally) int64 // bytes
}

// A Publisher has others hear of a run: a file of metrics, and notifications. They hear also
// of a run that could not begin, but for mistakes in its settings, which say who hears of it.
type Publisher struct {
	Options
	Line string // what became of the run, unless an error ended it

	began  time.Time // of the process, so that it measures
	run    metrics.Run
	failed event.Error // the error that ended it
}

// New gives a publisher for a run that is about to begin.
func New(o Options) *Publisher {
	return &Publisher{Options: o, began: time.Now(), run: metrics.Run{Labels: o.Labels, Version: o.Version, Began: clock.Now()}}
}

// Start tells of the start of a run whose ends are open.
func (b *Publisher) Start(ctx context.Context, pair state.Pair) {
	b.run.Source, b.run.Destination = pair.Source, pair.Destination
	b.Notifier.Start(ctx, b.message(notify.Start, clock.Now()))
}

// Fail notes an error that ends the run, of which the first is why, and whether a safety
// check found it.
func (b *Publisher) Fail(e event.Error, guarded bool) {
	b.failed = cmp.Or(b.failed, e)
	b.run.Guarded = b.run.Guarded || guarded
}

// End tells how the run ended. What cannot be told does not make it fail.
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

// Load reads from the state database what metrics tell besides the end of the run.
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

// planOf is what a run had to do, with a number also where there was nothing: what is
// missing in one run and there in the next one makes gaps in every graph.
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

// lastSuccess is when a run of a pair ended last that left nothing to be done, as far as
// its last runs tell.
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

// writeMetrics writes the file. What this run could not find out is taken from the one
// before, so that a series does not end where a run could not begin.
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

// message is what notifications have in common.
func (b *Publisher) message(event notify.Event, at time.Time) notify.Message {
	return notify.Message{
		Event: event, Time: at.UTC().Format(time.RFC3339), Tool: "assetferry " + b.Version, Command: b.Command,
		Job: b.run.Job, Source: b.run.Source, Destination: b.run.Destination,
	}
}

// complete adds to a notification what the end of a run has to tell.
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
