package engine

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
)

// A level counts how many operations are in progress at once.
type level struct {
	mu        sync.Mutex
	now, most int
	reached   func(now int) // may be nil
}

func (l *level) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now += n
	l.most = max(l.most, l.now)
	if l.reached != nil {
		l.reached(l.now)
	}
}

// A watched source counts its open readers.
type watched struct {
	sources.Source
	open level
}

func (s *watched) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	r, err := s.Source.Open(ctx, o, offset)
	if err == nil {
		s.open.add(1)
		r = &watchedReader{r, s, atomic.Bool{}}
	}
	return r, err
}

type watchedReader struct {
	io.ReadCloser
	source *watched
	closed atomic.Bool
}

func (r *watchedReader) Close() error {
	if !r.closed.Swap(true) {
		r.source.open.add(-1)
	}
	return r.ReadCloser.Close()
}

// A held writer counts its uploads, and delays them until release is closed.
type held struct {
	migrate.Writer
	uploads level
	release chan struct{}
}

func (h *held) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	h.uploads.add(1)
	defer h.uploads.add(-1)
	<-h.release
	return h.Writer.Upload(ctx, u)
}

// TestObjectsAreOpenedAhead verifies that, while the maximum number of uploads is in progress, only
// the next few objects are opened.
func TestObjectsAreOpenedAhead(t *testing.T) {
	const once, objects = 3, 20
	w := newWorld(t)
	w.putMany(objects)
	source, writer := &watched{Source: w.source}, &held{Writer: w.client, release: make(chan struct{})}
	opened := make(chan struct{})
	source.open.reached = func(n int) {
		if n == migrate.Workers(once) {
			source.open.reached = nil
			close(opened)
		}
	}
	go func() { <-opened; close(writer.release) }()
	d := w.deps()
	d.Source = source
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency, a.Write = once, writer })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": objects})
	if source.open.most != migrate.Workers(once) || source.open.now != 0 {
		t.Errorf("%d objects open at once and %d in the end, want %d and none", source.open.most, source.open.now, migrate.Workers(once))
	}
	if writer.uploads.most > once {
		t.Errorf("%d uploads at once, want at most %d", writer.uploads.most, once)
	}
}

// TestStopClosesWhatWasOpenedAhead verifies that objects that were opened ahead are closed when the
// run stops, and that their items are released.
func TestStopClosesWhatWasOpenedAhead(t *testing.T) {
	const once, objects = 2, 20
	w := newWorld(t)
	w.putMany(objects)
	source, writer := &watched{Source: w.source}, &held{Writer: w.client, release: make(chan struct{})}
	stop := make(chan struct{})
	source.open.reached = func(n int) {
		if n < migrate.Workers(once) {
			return
		}
		close(stop)
		source.open.reached = func(n int) { // the reader that waits for its turn closes
			if n == once {
				source.open.reached = nil
				close(writer.release)
			}
		}
	}
	d := w.deps()
	d.Source = source
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency, a.Stop, a.Write = once, stop, writer })
	if !errors.Is(err, migrate.ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	got, _ := w.states(plan)
	if got["create done"] < once || got["create planned"] == 0 || got["create done"]+got["create planned"] != objects {
		t.Errorf("got %v: what began should be done, the rest planned", got)
	}
	if source.open.now != 0 {
		t.Errorf("%d objects are still open", source.open.now)
	}
}
