package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/undo"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// An adjustment changes the undoer.
type adjustment func(*undo.Undoer)

// undoRun undoes a run as the command does: it resumes an unfinished undo.
func (w *world) undoRun(ctx context.Context, d migrate.Deps, id string, content bool, changes ...adjustment) (migrate.Plan, error) {
	w.Helper()
	w.rest()
	undoer := undo.New(d, w.client)
	undoer.Wait = 0
	for _, c := range changes {
		c(undoer)
	}
	undone, err := w.store.Run(w.Context(), id)
	if err != nil {
		return migrate.Plan{}, err
	}
	undoing, err := w.store.Unfinished(w.Context(), w.pair)
	switch {
	case err == nil && undoing.Undoes == undone.Num && undoing.State == state.Applying:
		if err := undoer.Resolve(ctx, undoing); err != nil {
			return migrate.Plan{Run: undoing}, err
		}
		err = w.store.Relist(w.Context(), undoing.Num)
	case err == nil || errors.Is(err, state.ErrNotFound):
		undoing, err = w.store.BeginUndo(w.Context(), undone)
	}
	if err != nil {
		return migrate.Plan{Run: undoing}, err
	}
	planner := undo.NewPlanner(d)
	planner.Content = content
	plan, err := planner.Plan(ctx, undoing, undone)
	if err != nil {
		return plan, err
	}
	if err := w.wantSummedUp(plan); err != nil {
		return plan, err
	}
	return plan, undoer.Apply(ctx, plan.Run)
}

// wantSummedUp verifies what the planner of an undo has summed up without reading the items: the
// hash and the tallies. It fails only if they cannot be read.
func (w *world) wantSummedUp(plan migrate.Plan) error {
	w.Helper()
	hash, sums := migrate.NewPlanHash(), migrate.ItemSums{}
	for i, err := range w.store.Items(w.Context(), plan.Run.Num) {
		if err != nil {
			return err
		}
		hash.Add(&i)
		sums.Add(&i)
	}
	sum, err := hash.Sum(migrate.PlanHead{Source: plan.Run.Pair.Source, Destination: plan.Run.Pair.Destination})
	if err != nil || sum != plan.Run.PlanHash {
		w.Errorf("the hash of the undo is %s, and that of its items %s (%v)", plan.Run.PlanHash, sum, err)
	}
	byName := func(a, b state.Tally) int {
		return cmp.Or(strings.Compare(string(a.Action), string(b.Action)), strings.Compare(a.Reason, b.Reason), strings.Compare(string(a.State), string(b.State)))
	}
	want := slices.SortedFunc(slices.Values(sums.Tallies()), byName)
	if diff := gocmp.Diff(want, slices.SortedFunc(slices.Values(plan.Tallies), byName)); diff != "" {
		w.Errorf("tallies of the undo (-items +plan):\n%s", diff)
	}
	return nil
}

// undo undoes a run, and fails the test unless the undo completes.
func (w *world) undo(p migrate.Plan) migrate.Plan {
	w.Helper()
	plan, err := w.undoRun(w.Context(), w.deps(), p.Run.ID, false)
	must(w, err)
	if run, err := w.store.Run(w.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
		w.Fatalf("the undo is %s (%v), want finished", run.State, err)
	}
	w.wantSound()
	return plan
}

func (w *world) wantSound() {
	w.Helper()
	problems, err := w.store.Check(w.Context())
	must(w, err)
	if len(problems) > 0 {
		w.Errorf("the state database is not sound: %q", problems)
	}
}

// leftToUndo counts the assets that an undo of a run would look at, without the ones that it trashed.
func (w *world) leftToUndo(run state.Run) (n int64) {
	w.Helper()
	reader, err := w.store.ReadUndo(w.Context(), state.Run{Pair: run.Pair, Undoes: run.Num})
	must(w, err)
	for _, err := range reader.Candidates(w.Context()) {
		must(w, err)
		n++
	}
	if undoable, err := w.store.IsUndoable(w.Context(), run); err != nil || undoable != (n > 0) {
		w.Errorf("undoable: %t, with %d assets left (%v)", undoable, n, err)
	}
	return n
}

// verifies compares the destination with the state database, including all contents.
func (w *world) verifies() {
	w.Helper()
	w.watch.differences = nil
	v, err := verify.New(w.deps(), verify.LevelChecksum, 0).Verify(w.Context(), w.pair)
	must(w, err)
	if v.Differences != 0 {
		w.Errorf("it differs: %v", w.watch.found(false))
	}
}

// assetOf returns the asset of an object.
func (w *world) assetOf(key string) assets.Asset {
	w.Helper()
	r, err := w.store.Receipt(w.Context(), w.pair.ID, sources.Key(key))
	must(w, err)
	a, err := w.other.Asset(w.Context(), r.Asset)
	must(w, err)
	return a
}

// trash trashes an asset as another user.
func (w *world) trash(key string) {
	w.Helper()
	must(w, w.other.Trash(w.Context(), w.assetOf(key).ID))
}

// TestUndo verifies that undo trashes the assets that a run created, keeps adopted assets, other
// users' assets and all folders, and that everything can be migrated again, once.
func TestUndo(t *testing.T) {
	t.Parallel()
	for _, provenance := range []string{"never", "always"} {
		t.Run("provenance "+provenance, func(t *testing.T) {
			w := newWorld(t)
			w.varied()
			r := migrate.DefaultRules()
			r.Unsupported = "create"
			before := w.assetsAt()
			first, err := w.try(t.Context(), r, func(a *apply.Applier) { a.Provenance = provenance })
			must(t, err)
			all, folders := w.assetsAt(), w.folders()

			var undo migrate.Plan
			asked := w.during(func() { undo = w.undo(first) })
			if asked["POST /assets/trash"] != 1 {
				t.Errorf("it took %d requests to trash everything", asked["POST /assets/trash"])
			}
			if got, _ := w.states(undo); got["trash done"] != varied-2 || len(got) != 1 {
				t.Errorf("the undo came to %v", got)
			}
			if diff := gocmp.Diff(before, w.assetsAt()); diff != "" {
				t.Errorf("after the undo (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(folders, w.folders()); diff != "" {
				t.Errorf("folders and categories (-before +after):\n%s", diff)
			}
			if sum, err := w.store.SumReceipts(t.Context(), w.pair.ID); err != nil || sum.Objects != 2 {
				t.Errorf("%+v receipts are left (%v), want those of the 2 adopted assets", sum, err)
			}
			w.verifies()

			again, err := w.try(t.Context(), r, func(a *apply.Applier) { a.Provenance = provenance })
			must(t, err)
			if got, _ := w.states(again); got["create done"] != varied-2 || got["unchanged skipped"] != 2 {
				t.Errorf("migrating again came to %v", got)
			}
			if diff := gocmp.Diff(all, w.assetsAt()); diff != "" {
				t.Errorf("migrated again (-want +got):\n%s", diff)
			}
			w.verifies()
		})
	}
}

// TestUndoPlanOnlyAsks verifies that the plan of an undo changes nothing, and lists only the assets
// of a place that are newer than the start of the run.
func TestUndoPlanOnlyAsks(t *testing.T) {
	now := &clock{}
	w := newWorld(t, now.of)
	w.putMany(120)
	w.migrate(migrate.DefaultRules())
	now.passes(20 * time.Minute)
	w.put("pilot.jpg", "pilot", "pilot.txt", "pilot")
	pilot := w.migrateAt(now)
	undone, err := w.store.Run(t.Context(), pilot.Run.ID)
	must(t, err)
	undoing, err := w.store.PlanUndo(t.Context(), undone)
	must(t, err)
	asked := w.during(func() {
		planner := undo.NewPlanner(w.depsAt(now))
		plan, err := planner.Plan(t.Context(), undoing, undone)
		must(t, err)
		if got, _ := w.states(plan); got["trash planned"] != 2 {
			t.Errorf("the plan is %v", got)
		}
	})
	if diff := gocmp.Diff(map[string]int{"GET /assets": 2}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestUndoLeavesWhatWasChanged verifies that an asset that another user changed, in any way, stays
// in its place.
func TestUndoLeavesWhatWasChanged(t *testing.T) {
	now := &clock{}
	w := newWorld(t, now.of)
	for _, name := range []string{"renamed", "described", "tagged", "attributed", "moved", "rewritten", "same", "trashed", "shared", "untouched"} {
		w.put(name+".txt", "of "+name)
	}
	plan := w.migrateAt(now)
	shared := w.assetOf("shared.txt")
	w.otherSource(shared)
	now.passes(20 * time.Minute)
	w.trash("trashed.txt")
	text := "by hand"
	for key, changes := range map[string]assets.Changes{
		"renamed.txt": {Name: &text}, "described.txt": {Description: &text}, "tagged.txt": {Tags: &[]string{text}},
		"attributed.txt": {CustomAttributes: map[string]any{"by": "hand"}},
	} {
		_, err := w.other.Update(t.Context(), w.assetOf(key).ID, changes)
		must(t, err)
	}
	must(t, w.other.Move(t.Context(), assets.Target{FolderID: w.folder(w.texts, "", "elsewhere")},
		assets.Transfer{AssetID: w.assetOf("moved.txt").ID}))
	w.replace("rewritten.txt", "something longer than before")
	w.replace("same.txt", "OF SAME")

	undo := w.undoAt(now, plan)
	want := map[string]string{
		"renamed.txt":    "conflict: the asset changed after its upload: name, time of the last change",
		"described.txt":  "conflict: the asset changed after its upload: description, time of the last change",
		"tagged.txt":     "conflict: the asset changed after its upload: tags, time of the last change",
		"attributed.txt": "conflict: the asset changed after its upload: custom attributes, time of the last change",
		"moved.txt":      "conflict: the asset changed after its upload: place",
		"rewritten.txt":  "conflict: the asset changed after its upload: size, time of the last change",
		"same.txt":       "conflict: the asset changed after its upload: time of the last change",
		"shared.txt":     "conflict: asset_shared",
		"trashed.txt":    "skipped: asset_missing",
		"untouched.txt":  "done: undo_created",
	}
	got := map[string]string{}
	for i, err := range w.store.Items(t.Context(), undo.Run.Num) {
		must(t, err)
		why := i.Error
		if why == "" {
			why = i.Reason
		}
		got[string(i.Key)] = fmt.Sprintf("%s: %s", i.State, why)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, here := range map[string]bool{"renamed.txt": true, "shared.txt": true, "trashed.txt": false, "untouched.txt": false} {
		if _, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key)); (err == nil) != here {
			t.Errorf("%s: receipt: %v", key, err)
		}
	}
}

// TestUndoVerifies verifies that the content shows that an asset was edited if the service has no
// modification time.
func TestUndoVerifies(t *testing.T) {
	now := time.Now()
	w := newWorld(t, func(o *sandbox.Options) { o.Now = func() time.Time { return now } })
	w.put("same.txt", "of same", "untouched.txt", "untouched")
	plan := w.migrate(migrate.DefaultRules())
	w.replace("same.txt", "OF SAME")
	undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, true)
	must(t, err)
	if i := w.item(undo, "same.txt"); i.State != state.ItemConflict || i.Error != "the asset changed after its upload: content" {
		t.Errorf("%s: %s", i.State, i.Error)
	}
	if i := w.item(undo, "untouched.txt"); i.State != state.ItemDone {
		t.Errorf("%s: %s", i.State, i.Error)
	}
}

// TestUndoAndRestore verifies that an asset that a user restores from the trash is adopted by the
// next migration, even in a folder that was ours alone, and not uploaded again.
func TestUndoAndRestore(t *testing.T) {
	w := newWorld(t)
	w.put("ours/a.txt", "a", "ours/b.txt", "b")
	first := w.migrate(migrate.DefaultRules())
	kept := w.assetOf("ours/a.txt").ID
	w.undo(first)
	must(t, w.other.Restore(t.Context(), assets.Restoration{AssetID: kept}))
	again := w.migrate(migrate.DefaultRules())
	if got, _ := w.states(again); got["adopt done"] != 1 || got["create done"] != 1 {
		t.Errorf("migrating again came to %v", got)
	}
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("%d assets", n)
	}
	if id := w.assetOf("ours/a.txt").ID; id != kept {
		t.Errorf("a is %s, want %s", id, kept)
	}
}

// TestUndoAndLostStateDatabase verifies that no asset in the trash is adopted, even if the service
// still returns it.
func TestUndoAndLostStateDatabase(t *testing.T) {
	w := newWorld(t, served)
	w.put("a.txt", "a", "dir/b.jpg", "b")
	w.undo(w.migrate(migrate.DefaultRules()))
	w.loseState()
	again := w.migrate(migrate.DefaultRules())
	if got, _ := w.states(again); got["create done"] != 2 {
		t.Errorf("without a state database: %v", got)
	}
}

// TestUndoRefusedInPart verifies that an asset that the service refuses to trash keeps its receipt,
// and that the others are trashed.
func TestUndoRefusedInPart(t *testing.T) {
	w := newWorld(t)
	w.putMany(7)
	plan := w.migrate(migrate.DefaultRules())
	bad := w.assetOf("003.jpg").ID
	defer w.answers("/assets/trash", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		resp, err := next.RoundTrip(withBody(r, body))
		if err != nil || !strings.Contains(body, bad) {
			return resp, err
		}
		must(t, w.other.Restore(t.Context(), assets.Restoration{AssetID: bad}))
		resp.Body.Close()
		return reply(r, http.StatusMultiStatus, fmt.Sprintf(`{%q:403}`, bad)), nil
	})()
	undo := w.undo(plan)
	if got, _ := w.states(undo); got["trash done"] != 6 || got["trash failed"] != 1 {
		t.Errorf("it came to %v", got)
	}
	if i := w.item(undo, "003.jpg"); !strings.Contains(i.Error, "403") {
		t.Errorf("it failed with %q", i.Error)
	}
	if left := w.leftToUndo(plan.Run); left != 1 {
		t.Errorf("left to undo: %d", left)
	}
}

// TestUndoRefusedAsAWhole verifies that, if a request for many assets is refused as a whole, the
// undo finds the asset that causes it, and that the undo ends if every asset is refused.
func TestUndoRefusedAsAWhole(t *testing.T) {
	for _, tc := range []struct {
		bad         func(id string) bool
		done, still int64
	}{
		{func(string) bool { return false }, 29, 1},
		{func(string) bool { return true }, 0, 30},
	} {
		w := newWorld(t)
		w.putMany(30)
		plan := w.migrate(migrate.DefaultRules())
		bad := w.assetOf("025.jpg").ID
		restore := w.answers("/assets/trash", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, bad) || tc.bad(body) {
				return reply(r, http.StatusBadRequest, `{"statusCode":400,"message":"no","data":null,"traceId":"t"}`), nil
			}
			return next.RoundTrip(withBody(r, body))
		})
		undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false)
		restore()
		_, broken := errors.AsType[*apply.BreakerError](err)
		if (tc.done == 0) != broken || !broken && err != nil {
			t.Errorf("it ended with %v", err)
		}
		if got, _ := w.states(undo); got["trash done"] != tc.done || got["trash sending"]+got["trash unconfirmed"] != 0 {
			t.Errorf("it came to %v", got)
		}
		if left := w.leftToUndo(plan.Run); left != tc.still {
			t.Errorf("left to undo: %d", left)
		}
		w.close()
	}
}

// TestUndoForbidden verifies that the undo stops at once without the permission to trash, and that
// nothing is unconfirmed.
func TestUndoForbidden(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets/trash status=403"))
	w.putMany(3)
	plan := w.migrate(migrate.DefaultRules())
	undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false)
	if !assets.IsAuth(err) {
		t.Errorf("it ended with %v", err)
	}
	if got, _ := w.states(undo); got["trash planned"] != 3 || len(got) != 1 {
		t.Errorf("it came to %v", got)
	}
}

// TestUndoRefusedAndForbiddenToLook verifies that the outcome stays unconfirmed, and that the next
// undo clears it, if a request is refused, possibly because nothing is left to do, and the asset
// may not be read.
func TestUndoRefusedAndForbiddenToLook(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	plan := w.migrate(migrate.DefaultRules())
	next := w.gate.next
	w.answers("/assets/trash", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		answer, err := next.RoundTrip(withBody(r, body))
		must(t, err)
		must(t, answer.Body.Close())
		w.gate.next = forbidding{next, "/assets/" + w.receipt("a.jpg").Asset}
		return refuses(r, http.StatusBadRequest), nil
	})
	undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false)
	if !assets.IsAuth(err) {
		t.Errorf("it ended with %v", err)
	}
	if got, _ := w.states(undo); got["trash unconfirmed"] != 1 {
		t.Errorf("it came to %v", got)
	}
	w.gate.next = next
	undo = w.undo(plan)
	if got, _ := w.states(undo); got["trash done"] != 1 || len(got) != 1 {
		t.Errorf("in the end it came to %v", got)
	}
}

// TestUndoLosesAnswers verifies that the undo needs no answers: it checks whether the assets are
// trashed.
func TestUndoLosesAnswers(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets/trash drop=after"))
	w.putMany(5)
	plan := w.migrate(migrate.DefaultRules())
	undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false, func(u *undo.Undoer) { u.RetryPauses = nil })
	if _, broken := errors.AsType[*apply.BreakerError](err); !broken {
		t.Errorf("it ended with %v", err)
	}
	if got, _ := w.states(undo); got["trash done"] != 5 {
		t.Errorf("it came to %v", got)
	}
	undo, err = w.undoRun(t.Context(), w.deps(), plan.Run.ID, false)
	must(t, err)
	if got, _ := w.states(undo); got["trash done"] != 5 || len(got) != 1 {
		t.Errorf("in the end it came to %v", got)
	}
	w.wantSound()
}

// TestUndoIsStopped verifies that a stopped undo completes the current request, and can be resumed.
func TestUndoIsStopped(t *testing.T) {
	w := newWorld(t)
	w.putMany(150)
	plan := w.migrate(migrate.DefaultRules())
	stop := make(chan struct{})
	restore := w.answers("/assets/trash", func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error) {
		close(stop)
		return next.RoundTrip(withBody(r, body))
	})
	undo, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false, func(u *undo.Undoer) { u.Stop = stop })
	restore()
	if err != migrate.ErrStopped {
		t.Errorf("it ended with %v", err)
	}
	if got, _ := w.states(undo); got["trash done"] != 100 || got["trash planned"] != 50 {
		t.Errorf("it came to %v", got)
	}
	again, err := w.undoRun(t.Context(), w.deps(), plan.Run.ID, false)
	must(t, err)
	if got, _ := w.states(again); again.Run.ID != undo.Run.ID || got["trash done"] != 150 {
		t.Errorf("run %s went on as %s and came to %v", undo.Run.ID, again.Run.ID, got)
	}
}

// A clock is the service's; tests set it forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time         { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) passes(d time.Duration) { c.ahead.Add(int64(d)) }
func (c *clock) of(o *sandbox.Options)  { o.Now = c.now }
func served(o *sandbox.Options)         { o.Profile = profile.Profile{Version: 1, TrashServed: true} }
func (w *world) depsAt(c *clock) migrate.Deps {
	d := w.deps()
	d.Now = c.now
	return d
}

func (w *world) migrateAt(c *clock) migrate.Plan {
	w.Helper()
	plan, err := w.tryWith(w.Context(), w.depsAt(c), migrate.DefaultRules())
	must(w, err)
	return plan
}

func (w *world) undoAt(c *clock, p migrate.Plan) migrate.Plan {
	w.Helper()
	plan, err := w.undoRun(w.Context(), w.depsAt(c), p.Run.ID, false)
	must(w, err)
	w.wantSound()
	return plan
}

// replace overwrites an asset as another user.
func (w *world) replace(key, content string) {
	w.Helper()
	a := w.assetOf(key)
	_, err := w.other.Replace(w.Context(), a.ID, assets.Replacement{Filename: a.Filename(), Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }})
	must(w, err)
}

// otherSource makes the same library under another path adopt an asset.
func (w *world) otherSource(a assets.Asset) {
	w.Helper()
	d := w.deps()
	source := &memory.Source{}
	source.Put(sources.Key(a.Filename()), []byte(w.content(a)))
	d.Source = source
	pair, err := w.store.Pair(w.Context(), "another source", w.pair.Destination, w.url)
	must(w, err)
	run, err := w.store.Begin(w.Context(), pair, "migrate", []byte("{}"))
	must(w, err)
	plan, err := plan.New(d, migrate.DefaultRules()).Plan(w.Context(), run)
	must(w, err)
	must(w, w.applier(d).Apply(w.Context(), plan.Run))
	if holds, err := w.store.HoldsAsset(w.Context(), pair.ID, a.ID); err != nil || !holds {
		w.Fatalf("the other source did not adopt it (%v)", err)
	}
}

// answers makes f answer the requests of the engine to a path of the service, until the returned
// function is called.
func (w *world) answers(path string, f func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error)) (stop func()) {
	w.Helper()
	next := w.gate.next
	w.gate.next = between{next, path, f}
	return func() { w.gate.next = next }
}

type between struct {
	http.RoundTripper
	path string
	f    func(next http.RoundTripper, r *http.Request, body string) (*http.Response, error)
}

func (b between) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != b.path || r.Body == nil {
		return b.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	return b.f(b.RoundTripper, r, string(body))
}

// reply returns an answer in place of the service.
func reply(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// refuses returns an answer that refuses a request as a whole.
func refuses(r *http.Request, status int) *http.Response {
	return reply(r, status, fmt.Sprintf(`{"statusCode":%d,"message":"no","data":null,"traceId":"t"}`, status))
}

func withBody(r *http.Request, body string) *http.Request {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return r
}
