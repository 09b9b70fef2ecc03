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
	f.Out.Notef("Checking addresses of %s", ui.Sanitize(dest.String()))
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
	tellCheck(f, c, t, time.Since(began))
	if c.Different+c.Readable > 0 {
		return exit.Said(exit.CodeDifference)
	}
	return nil
}

// tellCheck tells what came of a check.
func tellCheck(f *command.Factory, c *redirect.Check, t redirect.Tally, took time.Duration) {
	switch {
	case c.Public+c.Private == 0:
		f.Out.Notef("There is no address to check: nothing has arrived whose privacy is known.")
	case c.Public > 0:
		f.Out.Printf("Checked %s of %s: %s. It took %s.", ui.Count(c.Public), ui.CountedAs(t.Written, "address", "addresses"),
			allLead(c.Different), ui.Duration(took))
	}
	if c.Private > 0 {
		f.Out.Printf("Checked %s of %s that must be private: %s.", ui.Count(c.Private),
			ui.CountedAs(t.LeftOut[redirect.LeftPrivate], "address", "addresses"), noneReadable(c.Readable))
	}
	if c.Unsized > 0 {
		f.Out.Notef("%s did not say how large the asset is, so that was not compared.", ui.CountedAs(c.Unsized, "address", "addresses"))
	}
	t.LeftOut[redirect.LeftPrivate] = 0 // they were checked
	tellLeftOut(f, t)
	if c.Different > 0 {
		f.Out.Notef("Try: assetferry verify tells what is not at the destination any more")
	}
	if c.Readable > 0 {
		f.Out.Notef("Try: see in the service whether these categories are private, and ask its operator why files are delivered to everybody")
	}
}

func allLead(differ int64) string {
	if differ == 0 {
		return "all lead to their assets"
	}
	return ui.Count(differ) + " not as they should be"
}

func noneReadable(readable int64) string {
	if readable == 0 {
		return "nobody can read them without credentials"
	}
	return ui.Count(readable) + " can be read by EVERYBODY"
}
