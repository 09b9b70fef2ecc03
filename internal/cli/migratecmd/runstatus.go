package migratecmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/metrics"
	"assetferry/internal/notify"
	"assetferry/internal/runstatus"
	"assetferry/state"
)

// addRunStatusFlags adds the flags for metrics and notifications.
func addRunStatusFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "metrics", "write the result of the run to this `file`, for the textfile collector of the Prometheus node exporter")
	f.StringArray("notify", nil, `POST a JSON object to this `+"`URL`"+` when a run starts and ends; failure=URL: only after a failure (repeatable) [$ASSETFERRY_NOTIFY]`)
	cmdline.Setting(f, "notify-file", "`file` with URLs for --notify, one per line, to keep secret URLs off the command line")
}

// openPublisher sets up metrics and notifications, if the settings ask for them.
func openPublisher(f *command.Factory, source, name string) error {
	c := f.Settings
	targets, err := c.Targets(func(warning string) { f.Out.Log().Warn(warning) })
	if err != nil || len(targets) == 0 && c.Metrics == "" {
		return err
	}
	if c.Metrics != "" {
		if err := metrics.Check(c.Metrics); err != nil {
			return exit.Usage(fmt.Errorf("--metrics: %w", err), "use a file of its own, in an existing folder")
		}
	}
	trust, err := command.Trusting(c.CAFile)
	if err != nil {
		return err
	}
	named, _ := command.NameOf(source) // empty if the name may contain secrets
	n, err := notify.New(notify.Options{Targets: targets, TLS: trust, AllowHTTP: c.AllowHTTP, UserAgent: "assetferry/" + cmdline.Version(), Redact: f.Redactor.Text})
	if err != nil {
		return exit.Usage(fmt.Errorf("--notify: %w", err), "")
	}
	f.Publisher = runstatus.New(runstatus.Options{
		File: c.Metrics, Notifier: n, Command: name, Version: cmdline.Version(), Labels: metrics.Labels{Job: c.Job, Source: cmp.Or(c.SourceName, named)},
		Complete: func(tallies []state.Tally) bool { return outcome.ExitOf(tallies) == exit.CodeDone }, Sent: outcome.BytesSent,
	})
	return nil
}

// publishStart notifies of the start of a run, and reads the metrics from the state database before
// that is closed.
func publishStart(ctx context.Context, f *command.Factory, s *endpoints) {
	p := f.Publisher
	if p == nil {
		return
	}
	p.Start(ctx, s.pair)
	f.CloseLater(func() error {
		if err := p.Load(context.WithoutCancel(ctx), s.store, s.pair.ID, f.Summary.Run); err != nil {
			f.Out.Log().Warn("the metrics are incomplete", "error", err)
		}
		return nil
	})
}
