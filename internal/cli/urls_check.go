package cli

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/redirect"
	"assetferry/internal/ui"
)

func (a *app) checkURLs(ctx context.Context, cmd *cobra.Command, job urlsJob) error {
	began := time.Now()
	a.summary = &event.Summary{Command: "urls"}
	dest, journal, pairs, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	m, err := a.openRedirects(ctx, cmd, journal, pairs)
	if err != nil {
		return err
	}
	m.NewOnly = true
	if err := m.Build(ctx, a.checkedRules()); err != nil {
		return err
	}
	a.out.Notef("Checking addresses of %s", ui.Sanitize(dest.String()))
	watch := a.watch()
	c := &redirect.Check{Map: m, Service: dest.client, Current: dest.current, Watch: watch}
	t, err := c.Run(ctx, a.settings.Concurrency, job.sample, job.all)
	a.out.Progress().EndPhase()
	if err != nil {
		return err
	}
	a.summary.Seconds = event.Seconds(time.Since(began))
	a.summary.Checks = &event.Checks{Checked: c.Public + c.Private, Differences: c.Different + c.Readable}
	watch.sayHidden()
	a.tellCheck(c, t, time.Since(began))
	if c.Different+c.Readable > 0 {
		return said(exitDifference)
	}
	return nil
}

// current is where an address is now: the sandbox within the command listens at another
// port each time.
func (d *destination) current(address string) string {
	u, err := url.Parse(address)
	here, herr := url.Parse(d.url)
	if !d.embedded || err != nil || herr != nil {
		return address
	}
	u.Scheme, u.Host = here.Scheme, here.Host
	return u.String()
}

// tellCheck tells what came of a check.
func (a *app) tellCheck(c *redirect.Check, t redirect.Tally, took time.Duration) {
	switch {
	case c.Public+c.Private == 0:
		a.out.Notef("There is no address to check: nothing has arrived whose privacy is known.")
	case c.Public > 0:
		a.out.Printf("Checked %s of %s: %s. It took %s.", ui.Count(c.Public), countOf(t.Written, "address", "addresses"),
			allLead(c.Different), ui.Duration(took))
	}
	if c.Private > 0 {
		a.out.Printf("Checked %s of %s that must be private: %s.", ui.Count(c.Private),
			countOf(t.LeftOut[redirect.LeftPrivate], "address", "addresses"), noneReadable(c.Readable))
	}
	if c.Unsized > 0 {
		a.out.Notef("%s did not say how large the asset is, so that was not compared.", countOf(c.Unsized, "address", "addresses"))
	}
	t.LeftOut[redirect.LeftPrivate] = 0 // they were checked
	a.tellLeftOut(t)
	if c.Different > 0 {
		a.out.Notef("Try: assetferry verify tells what is not at the destination any more")
	}
	if c.Readable > 0 {
		a.out.Notef("Try: see in the service whether these categories are private, and ask its operator why files are delivered to everybody")
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
