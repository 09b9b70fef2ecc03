package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// A refusal is an error with a given retry class.
type refusal struct{ class retry.Class }

func (r refusal) Error() string      { return "refused" }
func (r refusal) Class() retry.Class { return r.class }

// A lateWriter loses every answer, and stores the uploads to deliver them later.
type lateWriter struct {
	migrate.Writer
	mu   sync.Mutex
	late []assets.Upload
}

func (w *lateWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	r, err := u.Open(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	_, err = io.Copy(io.Discard, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = append(w.late, u)
	return assets.Asset{}, errors.Join(&assets.Error{Op: "upload", Unconfirmed: true, Status: 500}, err, r.Close())
}

// TestLateArrivalIsFound verifies that the next run looks for a lost upload before it sends it
// again, even in a folder that is ours alone.
func TestLateArrivalIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("dir/0.jpg", "0")
	w.migrate(migrate.DefaultRules())
	w.put("dir/a.jpg", "a")
	late := &lateWriter{Writer: w.client}
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Write = late })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create failed": 1, "unchanged skipped": 1})
	_, err = w.client.Upload(t.Context(), late.late[0])
	must(t, err)
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1, "unchanged skipped": 1})
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("got %d assets, want 2", n)
	}
}

// A secretive Reader refuses to return contents.
type secretive struct{ migrate.Reader }

func (secretive) Download(context.Context, string, int64) (io.ReadCloser, int64, error) {
	return nil, 0, refusal{retry.Permanent}
}

// TestUnconfirmedThatCannotBeCleared verifies that an upload that can never be confirmed keeps no
// run open: it fails, and the next plan checks the destination.
func TestUnconfirmedThatCannotBeCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.put("a.jpg", "a", "b.jpg", "b")
	d := w.deps()
	d.Dest = secretive{d.Dest}
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create failed": 1, "create done": 1})
	if run, err := w.store.Run(t.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
		t.Errorf("the run is %s (%v), want finished", run.State, err)
	}
	plan, err = w.tryWith(t.Context(), d, migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"conflict conflict": 1, "unchanged skipped": 1})
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1, "unchanged skipped": 1})
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("got %d assets, want 2", n)
	}
}

// TestUnclearIsNotSentByGuess verifies that an object that may be uploaded is not sent again, even
// under rules that put it elsewhere or allow a second asset of the same name, where the first asset
// would not be noticed.
func TestUnclearIsNotSentByGuess(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*migrate.Rules){
		"another place": func(r *migrate.Rules) { r.Category, r.Unsupported = "Pictures", "create" },
		"duplicates":    func(r *migrate.Rules) { r.OnExisting = "create" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
			w.put("a.jpg", "a")
			rules := migrate.DefaultRules()
			d := w.deps()
			d.Dest = secretive{d.Dest}
			plan, err := w.tryWith(t.Context(), d, rules)
			must(t, err)
			w.wantStates(plan, map[string]int64{"create failed": 1})
			change(&rules)
			for range 2 {
				plan, err = w.tryWith(t.Context(), d, rules)
				must(t, err)
				w.wantStates(plan, map[string]int64{"create retries_exhausted": 1})
			}
			if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonUnconfirmed) {
				t.Errorf("got reason %q", i.Reason)
			}
			if n := len(w.assetsAt()); n != 1 {
				t.Errorf("got %d assets, want 1", n)
			}
			w.put("a.jpg", "changed")
			w.wantStates(w.migrate(rules), map[string]int64{"create done": 1})
		})
	}
}

// An unmounted source lists its objects and fails to open them.
type unmounted struct{ sources.Source }

func (unmounted) Open(context.Context, sources.Object, int64) (io.ReadCloser, error) {
	return nil, fs.ErrNotExist
}

// TestUnclearWhileTheSourceWasMissing verifies that an upload that could not be compared because
// the source was unavailable is matched to the only possible asset. An unchanged listing is no
// evidence: a sync compares contents.
func TestUnclearWhileTheSourceWasMissing(t *testing.T) {
	t.Parallel()
	for _, onExisting := range []string{"conflict", "create"} {
		w := newWorld(t)
		w.put("a.jpg", "a")
		rules := migrate.DefaultRules()
		rules.OnExisting = onExisting
		plan := w.die(rules, "a.jpg")
		d := w.deps()
		d.Source = unmounted{d.Source}
		must(t, w.applier(d).Apply(t.Context(), plan.Run))
		w.wantStates(plan, map[string]int64{"create changed": 1})
		w.wantStates(w.migrate(rules), map[string]int64{"skip skipped": 1})
		w.wantStates(w.syncs(syncing()), map[string]int64{"update_metadata done": 1})
		w.wantStates(w.migrate(rules), map[string]int64{"unchanged skipped": 1})
		if n := len(w.assetsAt()); n != 1 {
			t.Errorf("%s: got %d assets, want 1", onExisting, n)
		}
		w.close()
	}
}

// A pickyReader refuses the contents of some assets.
type pickyReader struct {
	migrate.Reader
	not map[string]bool // by URL
}

func (p pickyReader) Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if p.not[url] {
		return nil, 0, refusal{retry.Permanent}
	}
	return p.Reader.Download(ctx, url, offset)
}

// TestFoundBesideUnreadable verifies that an upload is found even if other assets cannot be read.
func TestFoundBesideUnreadable(t *testing.T) {
	t.Parallel()
	for _, provenance := range []string{"always", "never"} {
		for _, arrived := range []bool{true, false} { // before the unreadable asset
			w := newWorld(t)
			w.put("a.jpg", "a")
			var plan migrate.Plan
			if arrived {
				plan = w.die(migrate.DefaultRules(), "a.jpg")
			} else {
				plan = w.die(migrate.DefaultRules())
			}
			d := w.deps()
			d.Dest = pickyReader{d.Dest, map[string]bool{w.upload(w.images, "", "a.jpg", "b").URL: true}}
			if !arrived {
				w.upload(w.images, "", "a.jpg", "a")
			}
			must(t, w.applier(d, func(a *apply.Applier) { a.Provenance = provenance }).Apply(t.Context(), plan.Run))
			w.wantStates(plan, map[string]int64{"create done": 1})
			if n := len(w.assetsAt()); n != 2 {
				t.Errorf("got %d assets, want 2", n)
			}
			w.close()
		}
	}
}

// An unlistable Reader permanently refuses to list the newest assets first.
type unlistable struct{ migrate.Reader }

func (u unlistable) List(ctx context.Context, o assets.ListOptions) seqOfAssets {
	if o.Order != assets.Descending {
		return u.Reader.List(ctx, o)
	}
	return func(yield func(assets.Asset, error) bool) { yield(assets.Asset{}, refusal{retry.Permanent}) }
}

// TestLookingIsRefused verifies that items stay unconfirmed if the service refuses all lookups, and
// that the run stops before that is the whole library.
func TestLookingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putMany(100)
	d := w.deps()
	d.Dest = unlistable{d.Dest}
	plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) {
		a.Write, a.Wait = &lateWriter{Writer: w.client}, short
	})
	if _, broken := errors.AsType[*apply.BreakerError](err); !broken {
		t.Errorf("got %v, want the circuit breaker", err)
	}
	states, _ := w.states(plan)
	if states["create unconfirmed"] < 20 || states["create unconfirmed"] > mostInVain(4) || states["create failed"] > 0 {
		t.Errorf("got %v, want as many unconfirmed as stop a run", states)
	}
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 100})
}

// A loweringReader returns extensions in lower case, as some services store them.
type loweringReader struct{ migrate.Reader }

func (l loweringReader) List(ctx context.Context, o assets.ListOptions) seqOfAssets {
	return func(yield func(assets.Asset, error) bool) {
		for a, err := range l.Reader.List(ctx, o) {
			if a.Extension = strings.ToLower(a.Extension); !yield(a, err) {
				return
			}
		}
	}
}

// TestExtensionInLowerCase verifies that an asset whose extension the service has changed to lower
// case is not matched to another object, with another name at the destination or without an asset.
func TestExtensionInLowerCase(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exclude []string
		want    map[string]int64
	}{
		"renamed":  {nil, map[string]int64{"create done": 2}},
		"kept":     {nil, map[string]int64{"create done": 2}},
		"excluded": {[]string{"*.jpg"}, map[string]int64{"create done": 1, "skip skipped": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
			w.put("a.JPG", "upper", "a.jpg", "lower")
			rules := migrate.DefaultRules()
			rules.Exclude = tc.exclude
			if name == "kept" {
				rules.OnCollision = "keep"
			}
			d := w.deps()
			d.Dest = loweringReader{d.Dest}
			plan, err := w.tryWith(t.Context(), d, rules, func(a *apply.Applier) { a.Concurrency = 1 })
			must(t, err)
			w.wantStates(plan, tc.want)
			if n := len(w.assetsAt()); int64(n) != tc.want["create done"] {
				t.Errorf("got %d assets, want %d", n, tc.want["create done"])
			}
		})
	}
}

// TestNamesakeIsNotTaken verifies that, of two unconfirmed objects whose extensions differ only in
// case, the missing one is not matched to the other's asset.
func TestNamesakeIsNotTaken(t *testing.T) {
	t.Parallel()
	for range 8 { // which of them is the first
		w := newWorld(t, faults(t, "POST /assets drop=before once=1", "POST /assets drop=after once=2"))
		w.put("A.JPG", "x", "A.jpg", "x")
		rules := migrate.DefaultRules()
		rules.OnCollision = "keep"
		plan, err := w.try(t.Context(), rules)
		must(t, err)
		w.wantStates(plan, map[string]int64{"create done": 2})
		for _, key := range []string{"A.JPG", "A.jpg"} {
			if r, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key)); err != nil || r.Filename() != key {
				t.Errorf("%s has arrived as %s (%v)", key, r.Filename(), err)
			}
		}
		if n := len(w.assetsAt()); n != 2 {
			t.Errorf("got %d assets, want 2", n)
		}
		w.close()
	}
}

// TestAnotherPathAfterACrash verifies that a library whose migration was killed during an upload,
// and that has another path since, is not planned before the end of the confirmation timeout. A run
// with the old path finds the upload, too.
func TestAnotherPathAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a")
	old := w.die(migrate.DefaultRules())
	moved := *w
	var err error
	moved.pair, err = w.store.Pair(t.Context(), "another path", w.pair.Destination, w.url)
	must(t, err)
	const late = 300 * time.Millisecond
	landed := w.atLast(late, func() { w.upload(w.images, "", "a.jpg", "a") })
	plan, err := moved.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.ResponseTimeout = late })
	landed()
	must(t, err)
	moved.wantStates(plan, map[string]int64{"adopt done": 1})

	must(t, w.applier(w.deps()).Apply(t.Context(), old.Run))
	w.wantStates(old, map[string]int64{"create done": 1})
	if r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); err != nil || !r.Adopted {
		t.Errorf("got %+v (%v), want what the other source took over", r, err)
	}
	if n := len(w.assetsAt()); n != 1 {
		t.Errorf("got %d assets, want 1", n)
	}
}

// TestAdoptedUnconfirmed verifies that an asset that existed before us counts as adopted, even if
// the process was killed while it adopted the asset.
func TestAdoptedUnconfirmed(t *testing.T) {
	w := newWorld(t)
	w.upload(w.images, "", "a.jpg", "a")
	w.put("a.jpg", "a")
	plan := w.die(migrate.DefaultRules())
	must(t, w.applier(w.deps()).Apply(t.Context(), plan.Run))
	w.wantStates(plan, map[string]int64{"adopt done": 1})
	if r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); err != nil || !r.Adopted {
		t.Errorf("got %+v (%v), want it adopted", r, err)
	}
}

// TestTwoSourcesIntoOneFolder verifies that two sources can upload to one folder: each sees the
// assets that the other uploads by an older plan.
func TestTwoSourcesIntoOneFolder(t *testing.T) {
	w := newWorld(t)
	other := *w
	other.source = &memory.Source{}
	var err error
	other.pair, err = w.store.Pair(t.Context(), "another source", w.pair.Destination, w.url)
	must(t, err)
	other.put("a/1.jpg", "1", "d/x.jpg", "x")
	stop := make(chan struct{})
	w.gate.on(atUpload(1, sync.OnceValue(func() error { close(stop); return nil })))
	_, err = other.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency, a.Stop = 1, stop })
	if !errors.Is(err, migrate.ErrStopped) {
		t.Fatalf("got %v, want ErrStopped", err)
	}
	w.gate.on(nil)
	w.put("d/y.jpg", "y")
	w.migrate(migrate.DefaultRules())
	other.migrate(migrate.DefaultRules())
	w.put("d/x.jpg", "x")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1, "unchanged skipped": 1})
	if n := len(w.assetsAt()); n != 3 {
		t.Errorf("got %d assets, want 3", n)
	}
}

// A drainedWriter does not begin one upload because the run is stopping.
type drainedWriter struct {
	migrate.Writer
	begun chan struct{}
}

func (w drainedWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	if u.Filename != "b.jpg" {
		return w.Writer.Upload(ctx, u)
	}
	close(w.begun)
	<-retry.Draining(ctx)
	return assets.Asset{}, retry.ErrDraining
}

// TestStoppedWhileRecording verifies that a run is stopped, and not finished, if its last item is
// released while the state database is being written.
func TestStoppedWhileRecording(t *testing.T) {
	t.Parallel()
	for range 10 {
		w := newWorld(t)
		w.put("a.jpg", "a", "b.jpg", "b")
		stop, begun := make(chan struct{}), make(chan struct{})
		// At the first call there is nothing to record yet, and after the second nothing to take.
		w.before(nth(1, func() error { <-begun; close(stop); return nil }), "record outcomes")
		_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
			a.Write, a.Stop = drainedWriter{a.Write, begun}, stop
		})
		if !errors.Is(err, migrate.ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
		w.close()
	}
}

// A fullBatchWriter returns a fatal error at the update that fills a batch.
type fullBatchWriter struct {
	migrate.Writer
	assets, updates atomic.Int64
}

func (w *fullBatchWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	r, err := u.Open(ctx)
	if err != nil {
		return assets.Asset{}, err
	}
	_, err = io.Copy(io.Discard, r)
	base, extension, _ := strings.Cut(u.Filename, ".")
	return assets.Asset{ID: fmt.Sprint(w.assets.Add(1)), Name: base, Extension: extension, Size: u.Size}, errors.Join(err, r.Close())
}

func (w *fullBatchWriter) Update(context.Context, string, assets.Changes) (assets.Asset, error) {
	if w.updates.Add(1) < 128 {
		return assets.Asset{}, nil
	}
	return assets.Asset{}, refusal{retry.Fatal}
}

// TestFatalWithAFullBatch verifies that a fatal error is reported, whatever else is in progress at
// that moment.
func TestFatalWithAFullBatch(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := newWorld(t)
		w.putMany(128)
		_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
			a.Provenance, a.Concurrency, a.Write = "always", 64, &fullBatchWriter{Writer: w.client}
		})
		if _, refused := errors.AsType[refusal](err); !refused {
			t.Errorf("got %v, want the refusal", err)
		}
		w.close()
	}
}

// TestUndescribedIsNotForgotten verifies that a run that updates no metadata keeps the pending
// update of an asset.
func TestUndescribedIsNotForgotten(t *testing.T) {
	w := newWorld(t, faults(t, "PATCH /assets/{id} status=500"))
	w.put("a.jpg", "a")
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
		a.Provenance, a.RetryPauses, a.Wait = "always", []time.Duration{time.Hour}, 0
	})
	must(t, err)
	w.wantStates(plan, map[string]int64{"create retry_scheduled": 1})
	w.alter(`UPDATE items SET retry_at = retry_at - 3600000 WHERE retry_at IS NOT NULL`) // an hour passes
	w.wantStates(w.syncWith(w.silent(), migrate.DefaultRules()), map[string]int64{"create done": 1})
	if r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); err != nil || !r.MetadataPending {
		t.Errorf("got %+v (%v), want it metadata_pending", r, err)
	}
}

// TestUndescribedIsRetriesExhausted verifies that failing metadata updates exhaust the retries, as
// failing uploads do.
func TestUndescribedIsRetriesExhausted(t *testing.T) {
	w := newWorld(t, faults(t, "PATCH /assets/{id} status=422"))
	w.put("a.jpg", "a")
	var plan migrate.Plan
	for range 6 {
		var err error
		plan, err = w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Provenance = "always" })
		must(t, err)
	}
	w.wantStates(plan, map[string]int64{"update_metadata retries_exhausted": 1})
}

// TestWaitingForEverIsRetriesExhausted verifies that an item that is scheduled for retry in each
// run, and listed again each time, exhausts its retries.
func TestWaitingForEverIsRetriesExhausted(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=425"))
	w.put("a.jpg", "a")
	impatient := func(a *apply.Applier) { a.RetryPauses, a.Wait = []time.Duration{time.Hour}, 0 }
	var plan migrate.Plan
	for day := range 6 {
		var err error
		plan, err = w.try(t.Context(), migrate.DefaultRules(), impatient)
		must(t, err)
		if day < 5 {
			w.wantStates(plan, map[string]int64{"create retry_scheduled": 1})
			must(t, w.store.Relist(t.Context(), plan.Run.Num))
		}
	}
	w.wantStates(plan, map[string]int64{"create retries_exhausted": 1})
	if run, err := w.store.Run(t.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
		t.Errorf("the run is %s (%v), want finished", run.State, err)
	}
}
