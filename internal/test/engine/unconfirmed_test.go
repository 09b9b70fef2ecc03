package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// A fault that creates nothing occurs at most twice here: an upload that is sent three times
// without a trace has failed.
func TestLostAnswersAreConfirmed(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"POST /assets drop=after nth=5", "POST /assets drop=after", "POST /assets status=503 commit=after nth=3",
		"POST /assets status=200 nth=5", // an invalid answer, and nothing was created
		"POST /assets status=201 commit=after nth=4", "POST /assets drop=before nth=5", "POST /assets status=500 nth=5",
		"POST /folders drop=after once=2", "POST /folders status=502 commit=after nth=2", "POST /folders drop=before once=1",
	} {
		t.Run(fault, func(t *testing.T) {
			w := newWorld(t, faults(t, fault))
			var want []placed
			for n := range 12 {
				dir, name := fmt.Sprintf("dir%d", n%3), fmt.Sprintf("%02d.jpg", n)
				w.put(dir+"/"+name, name)
				want = append(want, placed{"Images", dir, name, checksum(name)})
			}
			sortPlaced(want)
			plan := w.migrate(migrate.DefaultRules())
			w.wantStates(plan, map[string]int64{"create done": 12})
			w.wantAssets(want)
			for path, n := range w.folders() {
				if n != 1 {
					t.Errorf("%s is there %d times", path, n)
				}
			}
		})
	}
}

func TestLostAnswerToMakingACategory(t *testing.T) {
	w := newWorld(t, faults(t, "POST /admin/categories drop=after once=3")) // after the two of a new world
	w.put("a.odd", "a")
	r := migrate.DefaultRules()
	r.Unsupported = "create"
	w.migrate(r)
	if n := w.folders()["Other files"]; n != 1 {
		t.Errorf("the category is there %d times", n)
	}
}

// TestNothingIsSentForEver verifies that a service that answers everything with 5xx gets a few
// attempts, with no more unconfirmed items at once than workers, and that the items then fail.
func TestNothingIsSentForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets status=500"))
	for n := range 6 {
		w.put(fmt.Sprintf("%d.jpg", n), fmt.Sprint(n))
	}
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 2 })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create failed": 6})
	if i := w.item(plan, "0.jpg"); !strings.Contains(i.Error, "uploaded 3 times") || !strings.Contains(i.Error, "500") {
		t.Errorf("got error %q", i.Error)
	}
	if n := w.requests()["POST /assets"]; n != 6*3 {
		t.Errorf("sent %d times, want each of 6 three times", n)
	}
}

// TestOutageStopsTheRun verifies that an outage is reported after some items, not after all of
// them.
func TestOutageStopsTheRun(t *testing.T) {
	t.Parallel()
	const objects, sends = 100, 3 // of each item, before it fails
	w := newWorld(t, faults(t, "POST /assets status=500"))
	w.putMany(objects)
	plan, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Wait = short })
	if err == nil || !strings.Contains(err.Error(), "in a row failed") {
		t.Fatalf("got %v, want the circuit breaker", err)
	}
	states, _ := w.states(plan)
	if n := states["create failed"]; n < 20 || n > mostInVain(4) {
		t.Errorf("%d items failed", n)
	}
	sent := int64(0)
	for n := range objects {
		if w.item(plan, fmt.Sprintf("%03d.jpg", n)).Attempts > 0 {
			sent++
		}
	}
	if n := w.requests()["POST /assets"]; sent == objects || int64(n) > sends*sent {
		t.Errorf("sent %d uploads of %d items, of all %d, into an outage", n, sent, objects)
	}
}

// A gatewayWriter loses the answer to the first upload, as a gateway does that gives up while the
// service is still working.
type gatewayWriter struct {
	migrate.Writer
	status int
	gaveUp time.Time
}

func (w *gatewayWriter) Upload(ctx context.Context, u assets.Upload) (assets.Asset, error) {
	if !w.gaveUp.IsZero() {
		return w.Writer.Upload(ctx, u)
	}
	w.gaveUp = time.Now()
	return assets.Asset{}, &assets.Error{Op: "upload", Unconfirmed: true, Status: w.status}
}

// TestGatewayGivesUp verifies that, if a gateway gives up, the service gets as much time as without
// an answer.
func TestGatewayGivesUp(t *testing.T) {
	t.Parallel()
	const answer = 150 * time.Millisecond
	for _, status := range []int{408, 502, 504, 520, 524, 599} {
		w := newWorld(t)
		w.put("a.jpg", "a")
		gateway := &gatewayWriter{Writer: w.client, status: status}
		arrive := sync.OnceFunc(func() { w.upload(w.images, "", "a.jpg", "a") })
		w.gate.on(func(_ int, r *http.Request) error {
			if isLook(r) && time.Since(gateway.gaveUp) >= answer { // as late as possible
				arrive()
			}
			return nil
		})
		_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Write, a.ResponseTimeout = gateway, answer })
		must(t, err)
		arrive() // a second asset if the upload was repeated too early
		w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
		w.close()
	}
}

// isLook reports whether a request looks for an unconfirmed upload among the newest assets.
func isLook(r *http.Request) bool {
	q := r.URL.Query()
	return q.Get("sortBy") == assets.ByUploadedAt && q.Get("order") == assets.Descending
}

// TestUnconfirmedWaitsFromWhenItArose verifies that the confirmation timeout starts when the answer
// is lost, and not when the intent was recorded: the upload may have taken long.
func TestUnconfirmedWaitsFromWhenItArose(t *testing.T) {
	t.Parallel()
	const answer = 150 * time.Millisecond
	w := newWorld(t)
	w.put("a.jpg", "a")
	var cut time.Time
	looks := 0
	arrive := sync.OnceFunc(func() { w.upload(w.images, "", "a.jpg", "a") })
	w.gate.on(func(_ int, r *http.Request) error {
		switch {
		case r.Method == http.MethodPost && cut.IsZero(): // the whole request is sent, then the connection breaks
			cut = time.Now()
			_, err := io.Copy(io.Discard, r.Body)
			return errors.Join(err, errors.New("cut"))
		case isLook(r):
			if looks++; time.Since(cut) >= answer { // as late as possible
				arrive()
			}
		}
		return nil
	})
	d := w.deps()
	d.Now = func() time.Time { return time.Now().Add(-time.Minute) } // the intent is old
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules(), func(a *apply.Applier) { a.ResponseTimeout = answer })
	must(t, err)
	arrive() // a second asset if the upload was repeated too early
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
	if looks < 1 || looks > 2 {
		t.Errorf("looked %d times, want when it was due, and before if there was the time", looks)
	}
}

// die leaves items as a process that is killed during uploads does: the state database says
// sending, and some of them are uploaded.
func (w *world) die(r migrate.Rules, arrived ...string) migrate.Plan {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "migrate", marshal(w, r))
	must(w, err)
	plan, err := plan.New(w.deps(), r).Plan(w.Context(), run)
	must(w, err)
	must(w, w.store.SetRunState(w.Context(), plan.Run.Num, state.Planned, state.Applying))
	items, err := w.store.Take(w.Context(), plan.Run.Num, state.Next{After: "", N: 100, Time: time.Now()})
	must(w, err)
	for _, i := range items {
		for _, key := range arrived {
			if string(i.Key) == key {
				content, err := w.source.Open(w.Context(), i.Object, 0)
				must(w, err)
				b, err := io.ReadAll(content)
				must(w, err)
				w.upload(i.Category, "", i.Name, string(b))
			}
		}
	}
	return plan
}

func TestKilledWhileSending(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	plan := w.die(migrate.DefaultRules(), "b.jpg")
	again := w.migrate(migrate.DefaultRules())
	if again.Run.ID != plan.Run.ID {
		t.Error("the run was not continued")
	}
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "", "b.jpg", checksum("b")}, {"Images", "", "c.jpg", checksum("c")}})
}

func TestConfirmingSendsNothing(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.Unsupported = "create"
	w.put("a.jpg", "a", "b.jpg", "b", "dir/c.jpg", "c", "d.odd", "d")
	plan := w.die(r, "b.jpg")
	asked := w.during(func() { must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run)) })
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	w.wantStates(plan, map[string]int64{"create done": 1, "create planned": 3})
	w.migrate(r)
	if n := len(w.assetsAt()); n != 4 {
		t.Errorf("got %d assets, want 4", n)
	}
}

func TestConfirmingPicksTheRightAsset(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "right", "b.jpg", "twice")
	run := w.die(migrate.DefaultRules())
	w.upload(w.images, "", "a.jpg", "wrong")
	w.upload(w.images, "", "a.JPG", "right") // the service may change the case of an extension
	w.upload(w.images, "", "a.jpg", "longer than that")
	w.upload(w.images, "", "b.jpg", "twice")
	w.upload(w.images, "", "b.jpg", "twice")
	asked := w.during(func() { w.migrate(migrate.DefaultRules()) })
	if n := asked["POST /assets"]; n > 0 {
		t.Errorf("sent %d assets that were there", n)
	}
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg")
	must(t, err)
	a, err := w.other.Asset(t.Context(), r.Asset)
	if err != nil || w.content(a) != "right" || r.Adopted {
		t.Errorf("took %+v (%v)", a, err)
	}
	if i := w.item(run, "b.jpg"); !strings.Contains(i.Error, "found several times") {
		t.Errorf("a second copy was not told: %q", i.Error)
	}
}

// TestConfirmingPicksTheNamesake verifies that another user's new asset of the same name and
// content is not matched to an unconfirmed upload of ours, with --on-existing create.
func TestConfirmingPicksTheNamesake(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=503 commit=after nth=2"))
	r := migrate.DefaultRules()
	r.OnExisting = "create"
	theirs := w.upload(w.images, "", "a.jpg", "a")
	w.put("a.jpg", "a")
	w.wantStates(w.migrate(r), map[string]int64{"create done": 1})
	ours, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg")
	if must(t, err); ours.Asset == theirs.ID || len(w.assetsAt()) != 2 {
		t.Errorf("asset %s is ours, with somebody else's %s; %d are there", ours.Asset, theirs.ID, len(w.assetsAt()))
	}
}

func TestOldAssetsAreNotTakenForAnUpload(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.OnExisting = "create"
	w.upload(w.images, "", "a.jpg", "a") // another user's asset, with the same content
	w.put("a.jpg", "a")
	d := w.deps()
	d.Now = func() time.Time { return time.Now().Add(time.Hour) }
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", marshal(w, r))
	must(t, err)
	plan, err := plan.New(d, r).Plan(t.Context(), run)
	must(t, err)
	must(t, w.store.SetRunState(t.Context(), plan.Run.Num, state.Planned, state.Applying))
	_, err = w.store.Take(t.Context(), plan.Run.Num, state.Next{After: "", N: 9, Time: d.Now()})
	must(t, err)
	must(t, w.applier(d).Apply(t.Context(), plan.Run))
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("got %d assets, want ours beside the other", n)
	}
}

func TestUnclearUnconfirmedStaysOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	plan := w.die(migrate.DefaultRules())
	d := w.deps()
	d.Dest = noListing{w.client}
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
	must(t, err) // this is for the exit code, not an error
	w.wantStates(plan, map[string]int64{"create unconfirmed": 2})
	if run, err := w.store.Run(t.Context(), plan.Run.ID); err != nil || run.State != state.Applying {
		t.Errorf("the run is %s (%v), want it open", run.State, err)
	}
	if i := w.item(plan, "a.jpg"); !strings.Contains(i.Error, "cannot check whether it arrived") {
		t.Errorf("got %q", i.Error)
	}
	if n := w.requests()["POST /assets"]; n != 0 {
		t.Errorf("sent %d assets by guess", n)
	}
	w.migrate(migrate.DefaultRules())
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "", "b.jpg", checksum("b")}})
}

type noListing struct{ migrate.Reader }

func (n noListing) List(ctx context.Context, o assets.ListOptions) seqOfAssets {
	return func(yield func(assets.Asset, error) bool) { yield(assets.Asset{}, errors.New("the service is down")) }
}

// TestAssetsOfUnknownAge verifies that a service without upload times does not make every upload
// look lost.
func TestAssetsOfUnknownAge(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.die(migrate.DefaultRules(), "a.jpg", "b.jpg")
	d := w.deps()
	d.Dest = ageless{w.client}
	_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
	must(t, err)
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("got %d assets, want 2", n)
	}
}

type ageless struct{ migrate.Reader }

func (d ageless) List(ctx context.Context, o assets.ListOptions) seqOfAssets {
	return func(yield func(assets.Asset, error) bool) {
		for a, err := range d.Reader.List(ctx, o) {
			a.UploadedAt = time.Time{}
			if !yield(a, err) {
				return
			}
		}
	}
}

func TestUnconfirmedWhoseObjectIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	plan := w.die(migrate.DefaultRules(), "a.jpg")
	w.source.Delete("a.jpg")
	w.source.Delete("b.jpg")
	_, err := w.try(t.Context(), migrate.DefaultRules())
	must(t, err)
	// a.jpg matches in name, size and time, but its content cannot be compared; b.jpg does not
	// exist. The run ends nevertheless.
	w.wantStates(plan, map[string]int64{"create changed": 2})
	if i := w.item(plan, "a.jpg"); !strings.Contains(i.Error, "matches it by name, size and time") {
		t.Errorf("got error %q", i.Error)
	}
	if r := w.receipt("a.jpg"); !r.Adopted {
		t.Errorf("undo would trash what nothing proves to be ours: %+v", r)
	}
	// If the object reappears in its place, it is not uploaded again.
	w.put("a.jpg", "another")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"skip skipped": 1})
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
}

// TestSourceGoesAwayMidway verifies that a source that becomes unavailable during a run does not
// count as a library whose objects were all deleted.
func TestSourceGoesAwayMidway(t *testing.T) {
	w := newWorld(t)
	w.putMany(60)
	w.gate.on(func(n int, r *http.Request) error {
		if r.Method == http.MethodPost {
			w.source.Vanish()
		}
		return nil
	})
	_, err := w.try(t.Context(), migrate.DefaultRules())
	if err == nil || !strings.Contains(err.Error(), "deleted at the source after it was listed") {
		t.Fatalf("got %v, want the circuit breaker", err)
	}
	if _, err := w.store.Unfinished(t.Context(), w.pair); err != nil {
		t.Errorf("the run cannot be continued: %v", err)
	}
}

func TestAnswerLostAndObjectDeletedMeanwhile(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.put("a.jpg", "a")
	w.gate.on(func(_ int, r *http.Request) error {
		if isLook(r) {
			w.source.Delete("a.jpg")
		}
		return nil
	})
	plan, err := w.try(t.Context(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 1}) // the uploaded object is known by its checksum
}

// TestConfirmingKeepsOurOtherAssets verifies that the asset of another object is not matched to a
// missing upload, however similar they are.
func TestConfirmingKeepsOurOtherAssets(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.OnCollision = "keep"
	w.put("a.jpg", "same")
	w.migrate(r)
	w.put("a.JPG", "same")
	w.die(r)
	w.migrate(r)
	w.wantAssets([]placed{{"Images", "", "a.JPG", checksum("same")}, {"Images", "", "a.jpg", checksum("same")}})
}

// TestUnconfirmedWaitForTheirNamesakes verifies that an asset that exists, awaits its metadata and
// is not recorded yet is not matched to an unconfirmed item with the same name and content.
func TestUnconfirmedWaitForTheirNamesakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("twins/e\u0301.txt", "twin", "twins/\u00e9.txt", "twin")
	slow := &slowToDescribe{next: w.gate.next, described: make(chan struct{}), unconfirmed: make(chan struct{})}
	w.gate.next = slow
	d := w.deps()
	d.Watch = &uncertain{witness: w.watch, unconfirmed: slow.unconfirmed}
	rules := migrate.DefaultRules()
	rules.OnCollision = "keep"
	plan, err := w.tryWith(w.Context(), d, rules, func(a *apply.Applier) { a.Concurrency, a.Provenance = 2, "always" })
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 2})
	same := placed{"Texts", "twins", "\u00e9.txt", checksum("twin")}
	w.wantAssets([]placed{same, same})
	w.wantSound()
}

// A slowToDescribe delays the metadata update of the first asset until the second upload, whose
// answer it loses, is unconfirmed.
type slowToDescribe struct {
	next                   http.RoundTripper
	made, words            atomic.Int32
	described, unconfirmed chan struct{}
}

func (s *slowToDescribe) RoundTrip(r *http.Request) (*http.Response, error) {
	makes := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/assets") && s.made.Add(1) == 2
	switch {
	case makes:
		<-s.described
	case r.Method == http.MethodPatch && s.words.Add(1) == 1:
		close(s.described)
		<-s.unconfirmed
	}
	answer, err := s.next.RoundTrip(r)
	if makes && err == nil {
		answer.Body.Close()
		return nil, errPulled
	}
	return answer, err
}

// An uncertain closes unconfirmed when the first item is unconfirmed.
type uncertain struct {
	*witness
	once        sync.Once
	unconfirmed chan struct{}
}

func (v *uncertain) Item(i state.Item, o state.Outcome) {
	v.witness.Item(i, o)
	if o.State == state.ItemUnconfirmed {
		v.once.Do(func() { close(v.unconfirmed) })
	}
}
