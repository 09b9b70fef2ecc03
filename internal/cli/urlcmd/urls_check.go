package urlcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/redirect"
	"assetferry/internal/ui"
	"assetferry/state/actionlog"
)

func checkURLs(ctx context.Context, f *command.Factory, cmd *cobra.Command, job urlsJob) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: "urls"}
	dest, store, pairs, err := f.OpenRecorded(ctx)
	if err != nil {
		return err
	}
	m, err := openRedirects(ctx, f, cmd, store, pairs)
	if err != nil {
		return err
	}
	m.NewOnly = true
	if err := m.Build(ctx, checkedRules(f)); err != nil {
		return err
	}
	f.Out.Notef("Checking URLs of %s", ui.Sanitize(dest.String()))
	watch := f.Watch()
	c := &redirect.Check{Map: m, Service: dest.Client, Current: dest.Current, Watch: watch}
	t, err := c.Run(ctx, f.Settings.Concurrency, job.sample, job.all)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	f.Summary.Seconds = event.Seconds(time.Since(began))
	f.Summary.Checks = &event.Checks{Checked: c.Public + c.Private, Differences: c.Different + c.Readable}
	watch.ShowFound()
	details := actionlog.Details{
		"source": f.Summary.Source, "destination": f.Summary.Destination, "checked": c.Public + c.Private, "wrong": c.Different, "readable": c.Readable,
	}
	if run := f.Called.Flags().Lookup("run"); run != nil && run.Changed { // only the assets of a run
		details["run"] = run.Value.String()
	}
	if m.Wave != nil {
		details["wave"] = m.Wave.Name
	}
	if _, err := store.Note(ctx, actionlog.Entry{Kind: actionlog.URLsChecked, Details: details}); err != nil {
		return err
	}
	printCheck(f, c, t, time.Since(began))
	if c.Different+c.Readable > 0 {
		return exit.Said(exit.CodeDifference)
	}
	return nil
}

// printCheck prints the result of a check.
func printCheck(f *command.Factory, c *redirect.Check, t redirect.Tally, took time.Duration) {
	switch {
	case c.Public+c.Private == 0:
		f.Out.Notef("No URLs to check: the state database has no asset of known privacy.")
	case c.Public > 0:
		f.Out.Printf("Checked %s of %s: %s (%s).", ui.Count(c.Public), ui.Counted(t.Written, "URL"), publicResult(c.Different), ui.Duration(took))
	}
	if c.Private > 0 {
		f.Out.Printf("Checked %s of %s of private assets: %s.", ui.Count(c.Private),
			ui.Counted(t.Omitted[redirect.LeftPrivate], "URL"), privateResult(c.Readable))
	}
	if c.Unsized > 0 {
		f.Out.Notef("Size not compared: %s without a content length.", ui.Counted(c.Unsized, "URL"))
	}
	t.Omitted[redirect.LeftPrivate] = 0 // they were checked
	printOmitted(f, t)
	if c.Different > 0 {
		f.Out.Notef("Try: list the assets that are missing at the destination:\n  %s", f.Again("verify", nil))
	}
	if c.Readable > 0 {
		f.Out.Notef("Try: check in the service that these categories are private, and ask its operator why it delivers their files to everyone")
	}
}

func publicResult(different int64) string {
	if different == 0 {
		return "all lead to their assets"
	}
	return ui.CountedAs(different, "does not lead to its asset", "do not lead to their assets")
}

func privateResult(readable int64) string {
	if readable == 0 {
		return "none can be read without credentials"
	}
	return ui.Count(readable) + " can be read by EVERYONE"
}
