package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/metrics"
	"assetferry/internal/notify"
	"assetferry/sources/s3"
	"assetferry/state"
)

// A bulletin is what others hear of a run: a file of metrics, and notifications. They
// hear also of a run that could not begin, but for mistakes in its settings, which say
// who hears of it.
type bulletin struct {
	file     string // of metrics; empty: nobody wants any
	notifier *notify.Notifier
	command  string
	began    time.Time // of the process, so that it measures
	run      metrics.Run
	line     string      // what became of the run, unless an error ended it
	failed   event.Error // the error that did
}

// addBulletinFlags adds who else hears of a run.
func addBulletinFlags(f *pflag.FlagSet) {
	setting(f, "metrics", "write what became of the run into this `file`, for the textfile collector of Prometheus' node exporter")
	f.StringArray("notify", nil, `POST a JSON object to this `+"`address`"+` when the run begins and when it ends; with "failure=" before it, of failures only (repeatable) [$ASSETFERRY_NOTIFY]`)
	setting(f, "notify-file", "`file` of such addresses, one a line: switches can be seen by others, and who knows the address can use it")
}

// openBulletin has others hear of the run that follows, if anybody wants to.
func (a *app) openBulletin(source, command string) error {
	c := a.settings
	targets, err := c.Targets(func(warning string) { a.out.Log().Warn(warning) })
	if err != nil || len(targets) == 0 && c.Metrics == "" {
		return err
	}
	if c.Metrics != "" {
		if err := metrics.Check(c.Metrics); err != nil {
			return usage(fmt.Errorf("--metrics: %w", err), "name a file of its own, in a folder that is there")
		}
	}
	trust, err := trusting(c.CAFile)
	if err != nil {
		return err
	}
	n, err := notify.New(notify.Options{Targets: targets, TLS: trust, AllowHTTP: c.AllowHTTP, UserAgent: "assetferry/" + version(), Redact: a.redactor.Text})
	if err != nil {
		return usage(fmt.Errorf("--notify: %w", err), "")
	}
	a.bulletin = &bulletin{file: c.Metrics, notifier: n, command: command, began: time.Now(), run: metrics.Run{
		Labels: metrics.Labels{Job: c.Job, Source: cmp.Or(c.SourceName, nameOf(source))}, Version: version(), Began: clock.Now(),
	}}
	return nil
}

// nameOf is the name of a source before it is opened; empty where only that would tell
// whether it may be shown.
func nameOf(source string) string {
	if isConnector(source) {
		address, err := parseConnector(source)
		if err != nil {
			return ""
		}
		return address.String()
	}
	if isTable(source) {
		name, _ := tableName(source) // empty if it fails, as below
		return name
	}
	if config.IsAddress(source) {
		address, err := s3.ParseAddress(source)
		if err != nil {
			return ""
		}
		return address.String()
	}
	path, err := filepath.Abs(source)
	if err != nil {
		return ""
	}
	return path
}

// beginBulletin tells of the start of a run whose ends are open, and has the journal asked
// before it is closed.
func (a *app) beginBulletin(ctx context.Context, s *endpoints) {
	b := a.bulletin
	if b == nil {
		return
	}
	b.run.Source, b.run.Destination = s.pair.Source, s.pair.Destination
	b.notifier.Start(ctx, b.message(notify.Start, clock.Now()))
	a.closeLater(func() error {
		if err := b.ask(context.WithoutCancel(ctx), s.journal, s.pair.ID, a.summary.Run); err != nil {
			a.out.Log().Warn("the metrics are not complete", "error", err)
		}
		return nil
	})
}

// ask has the journal say what metrics tell besides the end of the run.
func (b *bulletin) ask(ctx context.Context, journal *state.Store, pair int64, id string) error {
	known, err := journal.Known(ctx, pair)
	if err != nil {
		return err
	}
	b.run.Known = (*metrics.Known)(&known)
	if id != "" {
		run, err := journal.Run(ctx, id)
		if err != nil {
			return err
		}
		tallies, err := journal.Tallies(ctx, run.Num)
		if err != nil {
			return err
		}
		b.run.Plan = summed(tallies)
	}
	if b.file != "" {
		b.run.LastSuccess, err = lastSuccess(ctx, journal, pair)
	}
	return err
}

// summed is what a run had to do, with a number also where there was nothing: what is
// missing in one night and there in the next one makes gaps in every graph.
func summed(tallies []state.Tally) *metrics.Plan {
	p := &metrics.Plan{Actions: map[string]int64{}, States: map[string]int64{}, SentBytes: bytesSent(tallies)}
	for _, action := range []state.Action{state.Create, state.Adopt, state.Replace, state.Describe, state.Move, state.Trash, state.Unchanged, state.Skip, state.Conflict} {
		p.Actions[string(action)] = 0
	}
	for _, is := range []state.ItemState{
		state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemDone, state.ItemWaiting, state.ItemFailed,
		state.ItemParked, state.ItemChanged, state.ItemSkipped, state.ItemConflict, state.ItemInDoubt,
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
func lastSuccess(ctx context.Context, journal *state.Store, pair int64) (time.Time, error) {
	const enough = 50
	runs, err := journal.RunsOf(ctx, pair, enough)
	if err != nil {
		return time.Time{}, err
	}
	for _, run := range runs {
		if run.State != state.Finished || run.Undoes != 0 {
			continue
		}
		tallies, err := journal.Tallies(ctx, run.Num)
		if err != nil {
			return time.Time{}, err
		}
		if exitOf(tallies) == exitDone {
			return run.FinishedAt, nil
		}
	}
	return time.Time{}, nil
}

// isSuccess reports whether a run that ended so needs nobody to look at it. What a budget
// or a time window left is brought by the next run, as somebody has wished.
func isSuccess(code int) bool { return code == exitDone || code == exitBudget }

// closeBulletin tells how the run ended. What cannot be told does not make it fail.
func (a *app) closeBulletin(code int) {
	b := a.bulletin
	if b == nil {
		return
	}
	b.run.Ended, b.run.Exit, b.run.Success = clock.Now(), code, isSuccess(code)
	if b.file != "" {
		if err := b.writeMetrics(); err != nil {
			a.out.Log().Warn("the metrics were not written", "file", b.file, "error", err)
		}
	}
	event := notify.Failure
	if b.run.Success {
		event = notify.Success
	}
	m := b.message(event, b.run.Ended)
	b.complete(&m, a.summary)
	for _, err := range b.notifier.Finish(context.Background(), m) {
		a.out.Log().Warn(err.Error())
	}
}

// writeMetrics writes the file. What this run could not find out is taken from the one
// before, so that a series does not end where a run could not begin.
func (b *bulletin) writeMetrics() error {
	former, success := metrics.Former(b.file)
	if b.run.Destination == "" && former.Job == b.run.Job && former.Source == b.run.Source {
		b.run.Destination = former.Destination
	}
	switch {
	case b.run.Success:
		b.run.LastSuccess = b.run.Ended
	case former == b.run.Labels && !success.IsZero(): // it counts exit code 7, too, which the journal does not know
		b.run.LastSuccess = success
	}
	return metrics.Write(b.file, b.run)
}

// message is what notifications have in common.
func (b *bulletin) message(event notify.Event, at time.Time) notify.Message {
	return notify.Message{
		Event: event, Time: at.UTC().Format(time.RFC3339), Tool: "assetferry " + version(), Command: b.command,
		Job: b.run.Job, Source: b.run.Source, Destination: b.run.Destination,
	}
}

// complete adds to a notification what the end of a run has to tell.
func (b *bulletin) complete(m *notify.Message, summary *event.Summary) {
	seconds := time.Since(b.began).Round(time.Millisecond).Seconds()
	m.Exit, m.Class, m.Seconds = &b.run.Exit, classes[b.run.Exit], &seconds
	m.Message, m.Hint = cmp.Or(b.failed.Message, b.line), b.failed.Hint
	if b.run.Plan != nil {
		m.Actions, m.States, m.Bytes = summary.Actions, summary.States, &b.run.Plan.SentBytes
	}
	if summary.Run != "" {
		m.Run, m.Report = summary.Run, "assetferry report --run "+summary.Run
	}
}
