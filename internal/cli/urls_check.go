package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
)

// A urlCheck asks new addresses for what anybody gets there.
type urlCheck struct {
	dest *destination
	*mapping
	watch *watch

	mu               sync.Mutex // held for what is below, and for telling it
	public, private  int64      // asked
	differ, readable int64      // that do not lead to their asset; private ones that anybody can read
	unsized          int64      // that do not say how large they are
}

func (a *app) checkURLs(ctx context.Context, cmd *cobra.Command, job urlsJob) error {
	began := time.Now()
	a.summary = &event.Summary{Command: "urls"}
	dest, journal, pairs, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	m, err := a.openMapping(ctx, cmd, journal, pairs)
	if err != nil {
		return err
	}
	m.newOnly = true
	if err := m.build(ctx, a.checkedRules()); err != nil {
		return err
	}
	a.out.Notef("Checking addresses of %s", ui.Sanitize(dest.String()))
	c := &urlCheck{dest: dest, mapping: m, watch: a.watch()}
	t, err := c.run(ctx, a.settings.Concurrency, job)
	a.out.Progress().EndPhase()
	if err != nil {
		return err
	}
	a.summary.Seconds = event.Seconds(time.Since(began))
	a.summary.Checks = &event.Checks{Checked: c.public + c.private, Differences: c.differ + c.readable}
	c.watch.sayHidden()
	a.tellCheck(c, t, time.Since(began))
	if c.differ+c.readable > 0 {
		return &stop{code: exitDifference}
	}
	return nil
}

// run asks a choice of the addresses, and counts what there are by the reason for leaving
// them out.
func (c *urlCheck) run(ctx context.Context, concurrency int, job urlsJob) (t tally, err error) {
	t.leftOut = event.Counts{}
	for l, err := range c.all(ctx) {
		if err != nil {
			return t, err
		}
		if l.left == "" {
			t.written++
		} else {
			t.leftOut[l.left]++
		}
	}
	most := int64(job.sample)
	if job.all {
		most = t.written + t.leftOut[leftPrivate]
	}
	wanted := map[string]func(int64) bool{"": migrate.Sample(most, t.written), leftPrivate: migrate.Sample(most, t.leftOut[leftPrivate])}
	c.watch.Phase("addresses", min(most, t.written)+min(most, t.leftOut[leftPrivate]), -1)
	return t, c.askThose(ctx, concurrency, wanted)
}

// askThose asks the addresses that are wanted, by why they are left out elsewhere and by
// their position among the like.
func (c *urlCheck) askThose(ctx context.Context, concurrency int, wanted map[string]func(int64) bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	at := map[string]int64{}
	for l, err := range c.all(ctx) {
		if err != nil {
			return errors.Join(g.Wait(), err)
		}
		if ctx.Err() != nil {
			break
		}
		position := at[l.left]
		at[l.left]++
		if want := wanted[l.left]; want != nil && want(position) {
			g.Go(func() error { return c.ask(ctx, l) })
		}
	}
	return g.Wait()
}

// ask asks one address, and tells what is not as it should be.
func (c *urlCheck) ask(ctx context.Context, l located) error {
	address := c.dest.current(l.New)
	found, err := c.dest.client.Public(ctx, address)
	if errors.Is(err, assets.ErrRefused) {
		return fmt.Errorf("check the URL of %s: %w", l.Key, err)
	} else if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch.Progress(1, 0)
	if l.left == leftPrivate {
		c.private++
		if found.IsThere() {
			c.readable++
			c.tell(l, "privacy", "401", fmt.Sprint(found.Status), "ALARM: it is in a private category, and everybody can read it at "+address)
		}
		return nil
	}
	c.public++
	switch {
	case !found.IsThere():
		c.differ++
		c.tell(l, "address", "200", fmt.Sprint(found.Status), fmt.Sprintf("%s answers %s", address, statusText(found)))
	case l.Width > 0: // an image, of whose size nothing is known
	case found.Size < 0:
		c.unsized++
	case found.Size != l.Size:
		c.differ++
		c.tell(l, "size", fmt.Sprint(l.Size), fmt.Sprint(found.Size), fmt.Sprintf("%s has %d bytes instead of %d", address, found.Size, l.Size))
	}
	return nil
}

func statusText(p assets.Public) string {
	if text := http.StatusText(p.Status); text != "" {
		return fmt.Sprintf("%d %s", p.Status, text)
	}
	return fmt.Sprint(p.Status)
}

func (c *urlCheck) tell(l located, field, want, got, what string) {
	c.watch.Found(migrate.Difference{Key: l.Key, Asset: l.AssetID, Field: field, Want: want, Got: got, What: what})
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
func (a *app) tellCheck(c *urlCheck, t tally, took time.Duration) {
	switch {
	case c.public+c.private == 0:
		a.out.Notef("There is no address to check: nothing has arrived whose privacy is known.")
	case c.public > 0:
		a.out.Printf("Checked %s of %s: %s. It took %s.", ui.Count(c.public), countOf(t.written, "address", "addresses"),
			allLead(c.differ), ui.Duration(took))
	}
	if c.private > 0 {
		a.out.Printf("Checked %s of %s that must be private: %s.", ui.Count(c.private),
			countOf(t.leftOut[leftPrivate], "address", "addresses"), noneReadable(c.readable))
	}
	if c.unsized > 0 {
		a.out.Notef("%s did not say how large the asset is, so that was not compared.", countOf(c.unsized, "address", "addresses"))
	}
	t.leftOut[leftPrivate] = 0 // they were checked
	a.tellLeftOut(t)
	if c.differ > 0 {
		a.out.Notef("Try: assetferry verify tells what is not at the destination any more")
	}
	if c.readable > 0 {
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
