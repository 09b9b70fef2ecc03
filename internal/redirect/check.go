package redirect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/verify"
)

// A Check requests new URLs without credentials.
type Check struct {
	Map     *Map
	Service Service
	Current func(url string) string // returns the present form of a URL
	Watch   Observer

	Public, Private int64 // requested
	Different       int64 // that do not lead to their asset
	Readable        int64 // private ones that everyone can read
	Unsized         int64 // without a content length

	mu sync.Mutex // for the counts and the observer
}

// A Service requests assets without credentials.
type Service interface {
	Public(ctx context.Context, url string) (assets.Public, error)
}

// An Observer follows a check.
type Observer interface {
	Phase(p migrate.Phase, items, bytes int64)
	Progress(items, bytes int64)
	Found(migrate.Difference)
}

// Run requests random URLs, or all of them, with a limited number of parallel requests. It counts
// all URLs by the reason for omitting them.
func (c *Check) Run(ctx context.Context, concurrency, sample int, all bool) (t Tally, err error) {
	t.Omitted = map[string]int64{}
	for l, err := range c.Map.All(ctx) {
		if err != nil {
			return t, err
		}
		if l.Left == "" {
			t.Written++
		} else {
			t.Omitted[l.Left]++
		}
	}
	most := int64(sample)
	if all {
		most = t.Written + t.Omitted[LeftPrivate]
	}
	wanted := map[string]func(int64) bool{"": verify.Sample(most, t.Written), LeftPrivate: verify.Sample(most, t.Omitted[LeftPrivate])}
	c.Watch.Phase("check URLs", min(most, t.Written)+min(most, t.Omitted[LeftPrivate]), -1)
	return t, c.askThose(ctx, concurrency, wanted)
}

// askThose requests the wanted URLs. These are given by the reason for omitting them in maps, and
// by their position among the URLs with that reason.
func (c *Check) askThose(ctx context.Context, concurrency int, wanted map[string]func(int64) bool) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	at := map[string]int64{}
	for l, err := range c.Map.All(ctx) {
		if err != nil {
			return errors.Join(g.Wait(), err)
		}
		if ctx.Err() != nil {
			break
		}
		position := at[l.Left]
		at[l.Left]++
		if want := wanted[l.Left]; want != nil && want(position) {
			g.Go(func() error { return c.ask(ctx, l) })
		}
	}
	return g.Wait()
}

// ask requests one URL, and reports a difference to the observer.
func (c *Check) ask(ctx context.Context, l Entry) error {
	url := c.Current(l.New)
	found, err := c.Service.Public(ctx, url)
	if errors.Is(err, assets.ErrRefused) {
		return fmt.Errorf("check the URL of %s: %w", l.Key, err)
	} else if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Watch.Progress(1, 0)
	if l.Left == LeftPrivate {
		c.Private++
		if found.IsThere() {
			c.Readable++
			c.found(l, "privacy", "401", fmt.Sprint(found.Status), "ALARM: private asset, readable by everyone at "+url)
		}
		return nil
	}
	c.Public++
	switch {
	case !found.IsThere():
		c.Different++
		c.found(l, "url", "200", fmt.Sprint(found.Status), fmt.Sprintf("%s answers %s", url, statusText(found)))
	case l.Width > 0: // an image, whose size is unknown
	case found.Size < 0:
		c.Unsized++
	case found.Size != l.Size:
		c.Different++
		c.found(l, "size", fmt.Sprint(l.Size), fmt.Sprint(found.Size), fmt.Sprintf("%s has %d bytes instead of %d", url, found.Size, l.Size))
	}
	return nil
}

func statusText(p assets.Public) string {
	if text := http.StatusText(p.Status); text != "" {
		return fmt.Sprintf("%d %s", p.Status, text)
	}
	return fmt.Sprint(p.Status)
}

func (c *Check) found(l Entry, field, want, got, what string) {
	c.Watch.Found(migrate.Difference{Key: l.Key, Asset: l.AssetID, Field: field, Want: want, Got: got, What: what})
}
