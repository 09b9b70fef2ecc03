package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"assetferry/internal/config"
	"assetferry/internal/metrics"
	"assetferry/internal/notify"
	"assetferry/internal/runstatus"
	"assetferry/sources/s3"
	"assetferry/state"
)

// addRunStatusFlags adds who else hears of a run.
func addRunStatusFlags(f *pflag.FlagSet) {
	setting(f, "metrics", "write what became of the run into this `file`, for the textfile collector of Prometheus' node exporter")
	f.StringArray("notify", nil, `POST a JSON object to this `+"`address`"+` when the run begins and when it ends; with "failure=" before it, of failures only (repeatable) [$ASSETFERRY_NOTIFY]`)
	setting(f, "notify-file", "`file` of such addresses, one a line: switches can be seen by others, and who knows the address can use it")
}

// openPublisher has others hear of the run that follows, if anybody wants to.
func (a *app) openPublisher(source, command string) error {
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
	a.publisher = runstatus.New(runstatus.Options{
		File: c.Metrics, Notifier: n, Command: command, Version: version(), Labels: metrics.Labels{Job: c.Job, Source: cmp.Or(c.SourceName, nameOf(source))},
		Complete: func(tallies []state.Tally) bool { return exitOf(tallies) == exitDone }, Sent: bytesSent,
	})
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

// publishStart tells others of the start of a run whose ends are open, and has the journal
// asked before it is closed.
func (a *app) publishStart(ctx context.Context, s *endpoints) {
	p := a.publisher
	if p == nil {
		return
	}
	p.Start(ctx, s.pair)
	a.closeLater(func() error {
		if err := p.Load(context.WithoutCancel(ctx), s.journal, s.pair.ID, a.summary.Run); err != nil {
			a.out.Log().Warn("the metrics are not complete", "error", err)
		}
		return nil
	})
}

// isSuccess reports whether a run that ended so needs nobody to look at it. What a budget
// or a time window left is brought by the next run, as somebody has wished.
func isSuccess(code int) bool { return code == exitDone || code == exitBudget }

// publishEnd tells others how the run ended.
func (a *app) publishEnd(code int) {
	if a.publisher == nil {
		return
	}
	notifyErrs, metricsErr := a.publisher.End(code, classes[code], isSuccess(code), a.summary)
	if metricsErr != nil {
		a.out.Log().Warn("the metrics were not written", "file", a.publisher.File, "error", metricsErr)
	}
	for _, err := range notifyErrs {
		a.out.Log().Warn(err.Error())
	}
}
