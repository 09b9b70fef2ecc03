package engine

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/ratelimit"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// A slow source needs some time to open an object.
type slowSource struct {
	sources.Source
	latency time.Duration
}

func (d slowSource) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	time.Sleep(d.latency)
	return d.Source.Open(ctx, o, offset)
}

// A slow writer needs as long for each upload, and waits for a rate limiter.
type slowWriter struct {
	migrate.Writer
	latency time.Duration
	limiter *ratelimit.Limiter
}

func (d slowWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	ticket, err := d.limiter.Begin(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	defer ticket.End(ratelimit.Outcome{Latency: d.latency})
	r, err := u.Open(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	time.Sleep(d.latency)
	return assets.Asset{ID: u.Filename, Name: u.Filename[:len(u.Filename)-4], Extension: "jpg", Size: n, CategoryID: u.CategoryID}, err
}

// TestLatencyIsHidden verifies that a slow source and a slow service work at the same time, so that
// only the latency of the service counts.
func TestLatencyIsHidden(t *testing.T) {
	const once, objects, latency = 32, 3200, 50 * time.Millisecond
	w := newWorld(t)
	w.putMany(objects)
	plan := w.plan(migrate.DefaultRules())
	must(t, w.store.Close())
	w.store = nil
	synctest.Test(t, func(t *testing.T) {
		store, err := state.Open(t.Context(), w.path)
		must(t, err)
		a := apply.New(migrate.Deps{Source: slowSource{w.source, latency}, Dest: w.client, State: store},
			slowWriter{nil, latency, ratelimit.New(ratelimit.Options{Max: once})})
		a.Concurrency = once
		began := time.Now()
		must(t, a.Apply(t.Context(), plan.Run))
		rate := objects / time.Since(began).Seconds()
		if limit := once / latency.Seconds(); rate < .85*limit {
			t.Errorf("%.0f assets/s, want 85 %% of %.0f", rate, limit)
		} else {
			t.Logf("%.0f assets/s, %.1f %%", rate, 100*rate/limit)
		}
		must(t, store.Close())
	})
}
