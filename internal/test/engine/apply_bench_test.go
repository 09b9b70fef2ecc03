package engine

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/sources/memory"
)

// BenchmarkApply migrates small objects to a destination that only waits, so that the engine and
// its state database dominate. It reports assets/s, and the transactions per thousand assets from
// the listing on; each transaction is flushed to the disk. Without any work of ours the limit is
// workers / latency.
func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		workers int
		latency time.Duration
	}{{16, 0}, {32, 0}, {16, 8 * time.Millisecond}, {32, 20 * time.Millisecond}, {32, 50 * time.Millisecond}, {16, 50 * time.Millisecond}} {
		b.Run(fmt.Sprintf("%d workers at %v", c.workers, c.latency), func(b *testing.B) {
			const objects = 5000
			var writes int64
			for b.Loop() {
				writes += benchApply(b, objects, c.workers, c.latency)
			}
			b.ReportMetric(objects*float64(b.N)/b.Elapsed().Seconds(), "assets/s")
			b.ReportMetric(1000*float64(writes)/float64(objects*b.N), "tx/1000")
		})
	}
}

func benchApply(b *testing.B, objects, workers int, latency time.Duration) (writes int64) {
	b.StopTimer()
	source := &memory.Source{}
	for n := range objects {
		source.Put(sources.Key(fmt.Sprintf("pictures/folder%04d/photo-%06d.jpg", n/500, n)), []byte(strings.Repeat("x", 100)))
	}
	p := newBenchPlan(b, source)
	var transactions atomic.Int64 // of a run without incidents
	p.store.SetHook(func(op string, done bool) error {
		switch op {
		case "stage listing", "store decisions", "record outcomes", "save folder", "note intent":
			if !done {
				transactions.Add(1)
			}
		}
		return nil
	})
	a := apply.New(p.deps, &distantWriter{latency: latency})
	a.Concurrency = workers
	plan := p.plan()
	b.StartTimer()
	must(b, a.Apply(b.Context(), plan.Run))
	b.StopTimer()
	if sum, err := p.store.SumReceipts(b.Context(), p.pair.ID); err != nil || sum.Objects != int64(objects) {
		b.Fatalf("got %d receipts (%v), want %d", sum.Objects, err, objects)
	}
	b.StartTimer()
	return transactions.Load()
}

// A distantWriter reads each content and answers after a delay as if it had stored it.
type distantWriter struct {
	migrate.Writer
	latency time.Duration
	made    atomic.Int64
}

func (w *distantWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	r, err := u.Open(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return assets.Asset{}, err
	}
	time.Sleep(w.latency)
	base, extension, _ := strings.Cut(u.Filename, ".")
	id := fmt.Sprintf("%020d", w.made.Add(1))
	return assets.Asset{ID: id, Name: base, Extension: extension, Size: u.Size, URL: "https://assets.example.com/0123456789/assets/" + id + "/file"}, nil
}

func (w *distantWriter) CreateFolder(context.Context, assets.NewFolder) (string, error) {
	return fmt.Sprintf("folder%06d", w.made.Add(1)), nil
}
