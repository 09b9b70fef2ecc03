package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/scan"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// A wordScanner is a scanner that refuses content with a word in it.
type wordScanner struct {
	mu     sync.Mutex
	scans  map[string]int             // by key
	fails  atomic.Bool                // it has no answer
	before func(key string, n int)    // of an answer; may be nil
	refuse func(content string) error // nil: refuses "evil"
}

func (g *wordScanner) Scan(_ context.Context, o scan.Object, content io.Reader) error {
	all, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	g.mu.Lock()
	if g.scans == nil {
		g.scans = map[string]int{}
	}
	g.scans[o.Key]++
	n := g.scans[o.Key]
	g.mu.Unlock()
	if g.before != nil {
		g.before(o.Key, n)
	}
	switch {
	case g.fails.Load():
		return &scan.Error{Scanner: "wordScanner", Err: errors.New("no database")}
	case g.refuse != nil:
		return g.refuse(string(all))
	case strings.Contains(string(all), "evil"):
		return &scan.RefusedError{Verdict: "Evil"}
	}
	return nil
}

func (g *wordScanner) Check(ctx context.Context) error {
	return g.Scan(ctx, scan.Object{Key: "check"}, strings.NewReader("check"))
}

func scannedBy(g *wordScanner) change { return func(a *apply.Applier) { a.Scan = g } }

// TestRefusedObjectsAreNeverSent verifies that a refused object is not sent and not scanned again until
// it changes or a user asks for that, and that its asset keeps the former content.
func TestRefusedObjectsAreNeverSent(t *testing.T) {
	t.Parallel()
	w, g := newWorld(t), &wordScanner{}
	large := strings.Repeat("x", 3<<20)
	w.put("a/bad.jpg", "evil", "good.jpg", "good", "large.jpg", large, "large-bad.jpg", large+"evil")
	var plan1 migrate.Plan
	asked := w.during(func() {
		var err error
		plan1, err = w.try(t.Context(), migrate.DefaultRules(), scannedBy(g))
		must(t, err)
	})
	w.wantStates(plan1, map[string]int64{"create done": 2, "create failed": 2})
	w.wantAssets([]placed{{"Images", "", "good.jpg", checksum("good")}, {"Images", "", "large.jpg", checksum(large)}})
	if n := asked["POST /assets"]; n != 2 {
		t.Errorf("%d uploads: %v", n, asked)
	}
	if i := w.item(plan1, "a/bad.jpg"); i.Class != state.ClassRefused || i.Error != "refused by the scan: Evil" || i.Attempts != 1 || !migrate.IsRefused(i) {
		t.Errorf("got %+v", i)
	}

	again, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g))
	must(t, err)
	w.wantStates(again, map[string]int64{"create retries_exhausted": 2, "unchanged skipped": 2})
	if i := w.item(again, "a/bad.jpg"); i.Reason != string(migrate.ReasonScanRefused) || i.Error != "refused by the scan: Evil" {
		t.Errorf("got %+v", i)
	}
	if g.scans["a/bad.jpg"] != 1 {
		t.Errorf("scanned %d times", g.scans["a/bad.jpg"])
	}

	unscanned, err := w.try(t.Context(), migrate.DefaultRules()) // without a scanner, it stays refused
	must(t, err)
	w.wantStates(unscanned, map[string]int64{"create retries_exhausted": 2, "unchanged skipped": 2})

	w.put("a/bad.jpg", "cleaned", "good.jpg", "now evil")
	r := migrate.DefaultRules()
	r.Sync = migrate.DefaultSyncRules()
	for range 2 {
		synced, err := w.try(t.Context(), r, scannedBy(g))
		must(t, err)
		if i := w.item(synced, "good.jpg"); i.Action != state.Replace || i.State == state.ItemDone {
			t.Errorf("got %+v", i)
		}
		w.wantAssets([]placed{{"Images", "", "good.jpg", checksum("good")}, {"Images", "", "large.jpg", checksum(large)}, {"Images", "a", "bad.jpg", checksum("cleaned")}})
		if n := w.revisions(w.receipt("good.jpg").Asset); n != 1 {
			t.Errorf("%d revisions", n)
		}
	}
	w.verifies()
}

// TestScanRetried verifies that a user can have refused objects scanned again.
func TestScanRetried(t *testing.T) {
	t.Parallel()
	w, g := newWorld(t), &wordScanner{}
	w.put("bad.jpg", "evil")
	_, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g))
	must(t, err)
	g.refuse = func(string) error { return nil }
	p := plan.New(w.deps(), migrate.DefaultRules())
	p.RetryExhausted = true
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", []byte("{}"))
	must(t, err)
	planned, err := p.Plan(t.Context(), run)
	must(t, err)
	must(t, w.applier(w.deps(), scannedBy(g)).Apply(t.Context(), planned.Run))
	w.wantStates(planned, map[string]int64{"create done": 1})
	w.verifies()
}

// TestScannerFails verifies that nothing is sent while the scanner has no answer: neither if it fails
// from the start, nor later. A refusal of another object in a row does not end a run.
func TestScannerFails(t *testing.T) {
	t.Parallel()
	w, g := newWorld(t), &wordScanner{}
	w.putMany(60)
	g.fails.Store(true)
	asked := w.during(func() {
		if _, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g)); err == nil || !strings.Contains(err.Error(), "no database") {
			t.Errorf("got %v", err)
		}
	})
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	g.before = func(key string, _ int) { g.fails.Store(key != "check") }
	_, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g), func(a *apply.Applier) { a.Wait = 50 * time.Millisecond })
	if broken, ok := errors.AsType[*apply.BreakerError](err); !ok || !broken.Scan || !strings.Contains(broken.Remedy(), "scanner") {
		t.Errorf("got %v", err)
	}
	if n := len(w.assetsAt()); n != 0 {
		t.Errorf("%d assets", n)
	}
	g.before = nil
	g.fails.Store(false)
	g.refuse = func(string) error { return &scan.RefusedError{Verdict: "policy"} }
	refused, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g))
	must(t, err)
	w.wantStates(refused, map[string]int64{"create failed": 60})
}

// TestChangedAfterScan verifies that content is never sent completely if it is not the scanned content.
func TestChangedAfterScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := strings.Repeat("x", 3<<20)
	w.put("a.jpg", large)
	g := &wordScanner{}
	d := w.deps()
	d.Source = &swapping{Source: w.source, evil: strings.Repeat("x", 3<<20-4) + "evil"}
	changed, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), scannedBy(g))
	must(t, err)
	w.wantStates(changed, map[string]int64{"create changed": 1})
	if n := len(w.assetsAt()); n != 0 {
		t.Errorf("%d assets", n)
	}
	if g.scans["a.jpg"] != 1 {
		t.Errorf("scanned %d times", g.scans["a.jpg"])
	}
}

// A swapping source returns other content of the same size and version when an object is opened again.
type swapping struct {
	sources.Source
	evil   string
	opened atomic.Int64
}

func (s *swapping) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if s.opened.Add(1) == 1 {
		return s.Source.Open(ctx, o, offset)
	}
	return io.NopCloser(strings.NewReader(s.evil[offset:])), nil
}

// TestOneOfTwoIdenticalIsRefused verifies that an object whose identical content was refused under
// another key is not sent under its own key without an answer of its own.
func TestOneOfTwoIdenticalIsRefused(t *testing.T) {
	t.Parallel()
	for _, duplicates := range []string{"", "one-asset"} {
		w, g := newWorld(t), &wordScanner{}
		w.put("a.jpg", "same", "b.jpg", "same")
		first := atomic.Bool{}
		g.refuse = func(content string) error {
			if content == "same" && first.CompareAndSwap(false, true) {
				return &scan.RefusedError{Verdict: "once"}
			}
			return nil
		}
		r := migrate.DefaultRules()
		r.Duplicates = duplicates
		p, err := w.try(t.Context(), r, scannedBy(g), func(a *apply.Applier) { a.Concurrency = 1 })
		must(t, err)
		got, _ := w.states(p)
		if len(w.assetsAt()) != int(got["create done"]) || got["create failed"] != 1 {
			t.Errorf("%q: %v with %d assets", duplicates, got, len(w.assetsAt()))
		}
		if duplicates == "one-asset" && len(w.assetsAt()) != 0 {
			t.Errorf("the alias of a refused object has an asset: %v", got)
		}
		w.close()
	}
}

// TestScannedOnce verifies that an object is scanned once, however often it has to be sent.
func TestScannedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets status=429 nth=2"))
	w.putMany(9)
	w.put("large.jpg", strings.Repeat("x", 3<<20))
	g := &wordScanner{}
	p, err := w.try(t.Context(), migrate.DefaultRules(), scannedBy(g), func(a *apply.Applier) { a.Concurrency = 1 })
	must(t, err)
	w.wantStates(p, map[string]int64{"create done": 10})
	w.verifies()
	for key, n := range g.scans {
		if n != 1 {
			t.Errorf("%s was scanned %d times", key, n)
		}
	}
}

// TestSweepOfScans makes the n-th scan fail, and in half of the cases all later ones until the next
// run. It verifies that in the end everything exists once.
func TestSweepOfScans(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	s := sweep{workers: 4, provenance: "never", onCollision: "rename"}
	w := newWorld(t)
	if bad := s.finish(w, s.begin(w)); bad != "" {
		t.Fatal(bad)
	}
	s.want = shape{w.assetsAt(), w.folders()}
	w.close()
	for at := range 2 * (varied + 1) {
		if !sweepsAll() && skipped(random) {
			continue
		}
		var calls atomic.Int64
		scanner := &wordScanner{}
		scanner.before = func(string, int) {
			n, lasts := int(calls.Add(1))-1, at%2 == 0
			scanner.fails.Store(n == at/2 || lasts && n > at/2)
		}
		w := newWorld(t)
		broken := s
		broken.scanner = scanner
		_, err := broken.try(w, s.deps(w), s.begin(w))
		broken.scanner = &wordScanner{}
		if bad := broken.finish(w, nil); bad != "" {
			t.Errorf("scan %d, after a run that ended with %v: %s", at/2, err, bad)
		} else if diff := cmp.Diff(s.want, shape{w.assetsAt(), w.folders()}); diff != "" {
			t.Errorf("scan %d, after a run that ended with %v (-want +got):\n%s", at/2, err, diff)
		}
		w.close()
	}
}
