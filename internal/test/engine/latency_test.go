package engine

import (
	"context"
	"fmt"
	"io"
	"path"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/ratelimit"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/sources/memory"
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

// CreateFolder needs as long, too.
func (d slowWriter) CreateFolder(ctx context.Context, f assets.NewFolder) (string, error) {
	ticket, err := d.limiter.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer ticket.End(ratelimit.Outcome{Latency: d.latency})
	time.Sleep(d.latency)
	return "id of " + f.Name, nil
}

// TestLatencyIsHidden verifies that a slow source and a slow service work at the same time, so that
// only the latency of uploads counts.
func TestLatencyIsHidden(t *testing.T) {
	const once, objects = 32, 6400
	for name, test := range map[string]struct {
		latency time.Duration
		folders int
	}{
		"no folder":      {50 * time.Millisecond, 0},
		"folders, 20 ms": {20 * time.Millisecond, 16},
		"folders, 50 ms": {50 * time.Millisecond, 16},
	} {
		t.Run(name, func(t *testing.T) {
			source := &memory.Source{}
			for n := range objects {
				source.Put(sources.Key(path.Join(folderOf(n, objects, test.folders), fmt.Sprintf("%04d.jpg", n))), []byte("content"))
			}
			synctest.Test(t, func(t *testing.T) {
				b := newBenchPlan(t, slowSource{source, test.latency})
				plan := b.plan()
				a := apply.New(b.deps, slowWriter{nil, test.latency, ratelimit.New(ratelimit.Options{Max: once})})
				a.Concurrency = once
				began := time.Now()
				must(t, a.Apply(t.Context(), plan.Run))
				rate := objects / time.Since(began).Seconds()
				if limit := once / test.latency.Seconds(); rate < .97*limit {
					t.Errorf("%.0f assets/s, want 97 %% of %.0f", rate, limit)
				} else {
					t.Logf("%.0f assets/s, %.1f %%", rate, 100*rate/limit)
				}
			})
		})
	}
}

// folderOf returns the folder of an object, if there are any.
func folderOf(n, objects, folders int) string {
	if folders == 0 {
		return ""
	}
	return fmt.Sprintf("folder%02d", n*folders/objects)
}
