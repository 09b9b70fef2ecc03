package engine

import (
	"context"
	"io"
	"iter"
	"runtime"
	"testing"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
)

// huge is a source with one object that is too large for memory.
type huge struct{ object sources.Object }

func (h huge) Traits() sources.Traits { return sources.Traits{} }

func (h huge) Objects(_ context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		if after < h.object.Key {
			yield(h.object, nil)
		}
	}
}

func (h huge) Open(context.Context, sources.Object, int64) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(zeros{}, h.object.Size)), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// swallow accepts uploads without storing them.
type swallow struct{ migrate.Writer }

func (s swallow) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	r, err := u.Open(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	return assets.Asset{ID: "x", Name: "big", Extension: "jpg", Size: n, CategoryID: u.CategoryID}, err
}

func TestMemoryStaysFlat(t *testing.T) {
	const size = 1 << 30
	w := newWorld(t)
	d := w.deps()
	d.Source = huge{sources.Object{Key: "big.jpg", Size: size}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.Write = swallow{a.Write} })
	must(t, err)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("allocated %d bytes for an object of %d", got, size)
	}
}
