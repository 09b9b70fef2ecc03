package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// approve makes a plan and returns its approval.
func (w *world) approve(r migrate.Rules) *plan.Approval {
	w.Helper()
	return w.approval(w.plan(r))
}

func (w *world) approval(planned migrate.Plan) *plan.Approval {
	w.Helper()
	var items []state.Item
	for i, err := range w.store.Items(w.Context(), planned.Run.Num) {
		must(w, err)
		items = append(items, i)
	}
	return &plan.Approval{Hash: planned.Run.PlanHash, Categories: planned.Categories, Items: sequence(items, nil)}
}

// sequence yields items, and then an error if there is one.
func sequence(items []state.Item, err error) iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		for _, i := range items {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(state.Item{}, err)
		}
	}
}

// tryApproved applies an approved plan, or resumes it.
func (w *world) tryApproved(ctx context.Context, d migrate.Deps, a *plan.Approval, r migrate.Rules, changes ...change) (migrate.Plan, error) {
	w.Helper()
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) {
		if run, err = w.store.Begin(w.Context(), w.pair, "apply", rules); err == nil {
			err = w.store.SetApprovedPlan(w.Context(), run.Num, a.Hash)
		}
	}
	if err != nil {
		return migrate.Plan{}, err
	}
	applier, planner := w.applier(d, changes...), plan.New(d, r)
	planner.Approval, planner.ResponseTimeout, planner.Describes = a, applier.ResponseTimeout, applier.Provenance == "always"
	plan, err := planner.Plan(ctx, run)
	if err != nil {
		return plan, err
	}
	return plan, applier.Apply(ctx, plan.Run)
}

// apply applies an approved plan, and fails the test unless the run completes.
func (w *world) apply(a *plan.Approval, r migrate.Rules, changes ...change) migrate.Plan {
	w.Helper()
	plan, err := w.tryApproved(w.Context(), w.deps(), a, r, changes...)
	must(w, err)
	if run, err := w.store.Run(w.Context(), plan.Run.ID); err != nil || run.State != state.Finished || run.PlanHash != a.Hash {
		w.Fatalf("the run is %s with hash %s (%v), want finished with %s", run.State, run.PlanHash, err, a.Hash)
	}
	return plan
}

// TestReadAheadFails verifies that a plan fails if its read-ahead fails, even if no object needs
// the result: an unreadable state database is not an empty one.
func TestReadAheadFails(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"list fingerprints", "list failures", "list sidecars", "list aliases"} {
		w := newWorld(t)
		w.put("a.jpg", "a")
		approval := w.approve(migrate.DefaultRules())
		broken, once := errors.New("the disk does not answer"), sync.Once{}
		w.hook(func(asked string, done bool) (err error) {
			if asked == op && !done {
				once.Do(func() { err = broken })
			}
			return err
		})
		if _, err := w.tryApproved(t.Context(), w.deps(), approval, migrate.DefaultRules()); !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want that it failed", op, err)
		}
		if n := len(w.assetsAt()); n > 0 {
			t.Errorf("%s: %d assets were sent", op, n)
		}
		w.close()
	}
}

// TestApprovedPlanIsWhatHappens verifies that an approved plan is applied as it is, and that
// applying it again sends nothing.
func TestApprovedPlanIsWhatHappens(t *testing.T) {
	w := newWorld(t)
	w.varied()
	r := migrate.DefaultRules()
	r.Unsupported = "create"
	dry := w.plan(r)
	approval := w.approval(dry)
	real := w.apply(approval, r)
	if diff := gocmp.Diff(dry.Tallies, real.Tallies); diff != "" {
		t.Errorf("what is carried out differs from the plan:\n%s", diff)
	}
	w.wantStates(real, map[string]int64{"create done": 12, "adopt done": 2})
	there := w.assetsAt()
	var again migrate.Plan
	if sent := writes(w.during(func() { again = w.apply(approval, r) })); len(sent) > 0 {
		t.Errorf("to apply it again sent %v", sent)
	}
	w.wantStates(again, map[string]int64{"unchanged skipped": 14})
	w.wantAssets(there)
}

// TestDrift verifies that objects and assets that changed since the approval are skipped with a
// reason, and that all others are uploaded.
func TestDrift(t *testing.T) {
	t.Parallel()
	created := func(r *migrate.Rules) { r.Unsupported = "create" }
	for name, c := range map[string]struct {
		before func(*world)
		rules  func(*migrate.Rules)
		drift  func(*world)
		want   string // of the object a.jpg
	}{
		"size": {drift: func(w *world) {
			w.source.PutObject(sources.Object{Key: "a.jpg", Time: time.Unix(1, 0)}, []byte("longer"))
		}, want: "its size was 1, is 6; its time was "},
		"time":        {drift: func(w *world) { w.put("a.jpg", "b") }, want: `its time was 2026-01-01T00:00:02Z, is 2026-01-01T00:00:03Z; its version tag was "2", is "3"`},
		"version":     {drift: func(w *world) { w.sameTime("a.jpg", "b") }, want: `its version tag was "2", is "3"`},
		"gone":        {drift: func(w *world) { w.source.Delete("a.jpg") }, want: "it is not at the source any more"},
		"not allowed": {drift: func(w *world) { w.source.PutObject(sources.Object{Key: "a.jpg", Obstacle: sources.Unreadable}, nil) }, want: "its content cannot be read: cannot be read"},
		"a link":      {drift: func(w *world) { w.source.PutObject(sources.Object{Key: "a.jpg", Obstacle: sources.Symlink}, nil) }, want: "its content cannot be read: symbolic link"},
		"a folder that cannot be read": {drift: func(w *world) {
			w.source.Delete("a.jpg")
			w.source.PutObject(sources.Object{Key: "a", Obstacle: sources.UnreadableDirectory}, nil) // usually such a key ends with a slash
		}, want: "its content cannot be read: directory cannot be read"},
		"another asset": {drift: func(w *world) { w.upload(w.images, "", "a.jpg", "other") },
			want: "was create, is conflict (another asset has the same name (--on-existing))"},
		"another asset of about that name": {drift: func(w *world) { w.upload(w.images, "", "A.JPG", "other") },
			want: "was create, is conflict (another asset has the same name (--on-existing))"},
		"an equal asset": {drift: func(w *world) { w.upload(w.images, "", "a.jpg", "a") },
			want: "was create, is adopt (an asset with identical content exists)"},
		"duplicates": {rules: func(r *migrate.Rules) { r.OnExisting = "create" }, drift: func(w *world) { w.upload(w.images, "", "a.jpg", "other") },
			want: "was create (not at the destination yet), is create (another asset has the same name; uploaded next to it)"},
		"adopted no more": {before: func(w *world) { w.upload(w.images, "", "a.jpg", "a") }, drift: (*world).trashAll,
			want: "was adopt, is create (not at the destination yet)"},
		"adopted by adopt no more": {before: func(w *world) { w.upload(w.images, "", "a.jpg", "a") },
			rules: func(r *migrate.Rules) { r.AdoptOnly = true }, drift: (*world).trashAll,
			want: "was adopt, is skip (not at the destination; adopt uploads nothing)"},
		"another asset to adopt": {before: func(w *world) { w.upload(w.images, "", "a.jpg", "a") }, drift: func(w *world) {
			w.trashAll()
			w.upload(w.images, "", "a.jpg", "a")
		}, want: `its asset was "`},
		"no category any more": {rules: func(r *migrate.Rules) { r.Unsupported = "skip" }, drift: func(w *world) { w.delete("/admin/categories/" + w.images) },
			want: "was create, is skip (unsupported file type: no category allows the extension)"},
		"a category to be made": {rules: created, drift: func(w *world) { w.delete("/admin/categories/" + w.images) },
			want: `its category was "`},
		"another category": {drift: func(w *world) {
			w.delete("/admin/categories/" + w.images)
			w.category("Images", "jpg")
		}, want: `its category was "`},
		"it has come with another content": {drift: func(w *world) {
			w.put("a.jpg", "b")
			w.migrate(only("a.jpg"))
			w.sameTime("a.jpg", "a")
		}, want: `its time was `},
		"its name is taken": {drift: func(w *world) {
			w.put("A.jpg", "of the same name")
			w.migrate(only("A.jpg"))
		}, want: "was create (not at the destination yet), is create (not at the destination yet; renamed because another object has the same name)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("always.txt", "always", "a.jpg", "a")
			r := migrate.DefaultRules()
			if c.before != nil {
				c.before(w)
			}
			if c.rules != nil {
				c.rules(&r)
			}
			approval := w.approve(r)
			c.drift(w)
			there := w.assetsAt()
			plan := w.apply(approval, r)
			i := w.item(plan, "a.jpg")
			if i.State != state.ItemChanged || i.Action != state.Skip || i.Reason != string(migrate.ReasonChangedSinceApproval) ||
				!strings.HasPrefix(i.Error, "changed since the plan was approved: "+c.want) {
				t.Errorf("%s, %s (%s): %s\nwant %s", i.State, i.Action, i.Reason, i.Error, c.want)
			}
			if !r.AdoptOnly {
				there = append(there, placed{"Texts", "", "always.txt", checksum("always")})
				sortPlaced(there)
			}
			w.wantAssets(there)
		})
	}
}

// sameTime changes the content of an object and keeps its modification time, as some tools do.
func (w *world) sameTime(key sources.Key, content string) {
	w.Helper()
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Key == key {
			w.source.PutObject(sources.Object{Key: key, Time: o.Time}, []byte(content))
		}
	}
}

// trashAll moves all assets to the trash.
func (w *world) trashAll() {
	w.Helper()
	for c, err := range w.other.Categories(w.Context()) {
		must(w, err)
		for a, err := range w.other.List(w.Context(), assets.ListOptions{CategoryID: c.ID}) {
			must(w, err)
			must(w, w.other.Trash(w.Context(), a.ID))
		}
	}
}

func only(key string) migrate.Rules {
	r := migrate.DefaultRules()
	r.FilesFrom = migrate.NewKeyList([]sources.Key{sources.Key(key)})
	return r
}

// TestUnapprovedStaysUntouched verifies that objects that the approved plan skips stay skipped for
// the same reason, and that objects outside the plan are not touched, even if something else
// applies by now.
func TestUnapprovedStaysUntouched(t *testing.T) {
	w := newWorld(t)
	w.put("1.jpg", "1", "conflict.jpg", "c", "filtered.jpg", "f", "limit.jpg", "l", "odd.odd", "o", "was there.jpg", "w")
	w.migrate(only("was there.jpg"))
	foreign := w.upload(w.images, "", "conflict.jpg", "other")
	r := migrate.DefaultRules()
	r.Exclude, r.Limit, r.Unsupported = []string{"filtered*"}, 2, "skip"
	approval := w.approve(r)

	must(t, w.other.Trash(t.Context(), foreign.ID))
	w.category("Odd", "odd")
	w.put("0 new.jpg", "n", "filtered.jpg", "changed", "odd.odd", "changed", "was there.jpg", "changed")
	w.source.Delete("limit.jpg")
	plan := w.apply(approval, r)
	got := map[string]string{}
	for i, err := range w.store.Items(t.Context(), plan.Run.Num) {
		must(t, err)
		got[string(i.Key)] = fmt.Sprintf("%s, %s: %s", i.State, i.Action, i.Reason)
	}
	want := map[string]string{
		"0 new.jpg":     "skipped, skip: not_approved",
		"1.jpg":         "done, create: new",
		"conflict.jpg":  "conflict, conflict: name_exists",
		"filtered.jpg":  "skipped, skip: excluded",
		"odd.odd":       "skipped, skip: unsupported_type",
		"was there.jpg": "skipped, skip: not_approved",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	w.wantAssets([]placed{{"Images", "", "1.jpg", checksum("1")}, {"Images", "", "was there.jpg", checksum("w")}})
}

// TestApprovedPlanGoverns verifies that other objects do not get the places of approved objects
// that drift, neither within a limit nor among names.
func TestApprovedPlanGoverns(t *testing.T) {
	w := newWorld(t)
	w.put("A.jpg", "1", "B.jpg", "2", "a.jpg", "3", "b.jpg", "4", "c.jpg", "5")
	r := migrate.DefaultRules()
	r.Limit = 4
	approval := w.approve(r)
	w.source.Delete("A.jpg")
	w.put("B.jpg", "changed")
	plan := w.apply(approval, r)
	w.wantStates(plan, map[string]int64{"create done": 2, "skip changed": 2, "skip skipped": 1})
	var names []string
	for _, p := range w.assetsAt() {
		names = append(names, p.Name)
	}
	if want := []string{"a~" + checksum("a.jpg")[:6] + ".jpg", "b~" + checksum("b.jpg")[:6] + ".jpg"}; !slices.Equal(names, want) {
		t.Errorf("%q have arrived, want %q", names, want)
	}
}

// TestApprovedFilesFrom verifies that the approved plan replaces the keys of --files-from, which
// are not stored.
func TestApprovedFilesFrom(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	r := migrate.DefaultRules()
	r.FilesFrom = migrate.NewKeyList([]sources.Key{"a.jpg", "missing.jpg"})
	approval := w.approve(r)
	r.FilesFrom = &migrate.KeyList{Checksum: r.FilesFrom.Checksum}
	plan := w.apply(approval, r)
	w.wantStates(plan, map[string]int64{"create done": 1, "skip failed": 1, "skip skipped": 1})
	if i := w.item(plan, "missing.jpg"); i.Reason != string(migrate.ReasonMissingAtSource) {
		t.Errorf("what is missing: %s", i.Reason)
	}
}

// TestArrivedSinceApproval verifies that objects that other runs uploaded since the approval are
// unchanged, even if they are deleted at the source by now.
func TestArrivedSinceApproval(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	approval := w.approve(migrate.DefaultRules())
	w.migrate(migrate.DefaultRules())
	there := w.assetsAt()
	w.source.Delete("b.jpg")
	var plan migrate.Plan
	if sent := writes(w.during(func() { plan = w.apply(approval, migrate.DefaultRules()) })); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	w.wantStates(plan, map[string]int64{"unchanged skipped": 2})
	if plan.Deleted != 1 {
		t.Errorf("%d gone, want 1", plan.Deleted)
	}
	w.wantAssets(there)
}

// TestApprovedCategoriesDrawNothing verifies that a category that the plan creates for a folder
// takes no other objects. It may exist and accept their extension, since a first attempt at the
// plan has created it.
func TestApprovedCategoriesDrawNothing(t *testing.T) {
	w := newWorld(t)
	w.put("a.odd", "a", "new/b.odd", "b")
	r := migrate.DefaultRules()
	r.CategoryBy, r.Unsupported = "folder", "create"
	approval := w.approve(r)
	w.category("new", "odd")
	w.wantStates(w.apply(approval, r), map[string]int64{"create done": 2})
	w.wantAssets([]placed{{"Other files", "", "a.odd", checksum("a")}, {"new", "", "b.odd", checksum("b")}})
}

// TestApprovedCategoriesAreMadeForWhatComes verifies that only the categories that receive an asset
// are created.
func TestApprovedCategoriesAreMadeForWhatComes(t *testing.T) {
	w := newWorld(t)
	w.put("odd/a.odd", "a", "odd/b.even", "b", "rare/a.rare", "r")
	r := migrate.DefaultRules()
	r.CategoryBy = "folder"
	approval := w.approve(r)
	w.source.Delete("rare/a.rare")
	w.source.Delete("odd/b.even")
	w.apply(approval, r)
	w.wantAssets([]placed{{"odd", "", "a.odd", checksum("a")}})
	for c, err := range w.other.Categories(t.Context()) {
		must(t, err)
		if c.Name == "rare" || c.Name == "odd" && !slices.Equal(c.Extensions, []string{"odd", "even"}) {
			t.Errorf("there is a category %s for %v", c.Name, c.Extensions)
		}
	}
}

// TestApprovedPlanExhaustsRetries verifies that the next run of the same plan retries a failed
// object until its retries are exhausted.
func TestApprovedPlanExhaustsRetries(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=400 rate=1"))
	w.put("a.jpg", "a")
	approval := w.approve(migrate.DefaultRules())
	for range 5 {
		w.wantStates(w.apply(approval, migrate.DefaultRules()), map[string]int64{"create failed": 1})
	}
	w.wantStates(w.apply(approval, migrate.DefaultRules()), map[string]int64{"create retries_exhausted": 1})
}

// TestApprovalThatBreaksOff verifies that nothing is applied if the plan turns out not to be the
// approved one, whenever the run notices.
func TestApprovalThatBreaksOff(t *testing.T) {
	broken := errors.New("not the approved plan")
	for bad := range 3 { // the readings of the plan: to list, to decide, to compare
		w := newWorld(t)
		w.put("a.jpg", "a", "b.jpg", "b")
		good := w.approve(migrate.DefaultRules())
		read := -1
		a := &plan.Approval{Hash: good.Hash, Items: func(yield func(state.Item, error) bool) {
			for i := range good.Items {
				if !yield(i, nil) {
					return
				}
			}
			if read++; read == bad {
				yield(state.Item{}, broken)
			}
		}}
		if _, err := w.tryApproved(t.Context(), w.deps(), a, migrate.DefaultRules()); !errors.Is(err, broken) {
			t.Errorf("when it is read for the time %d: %v", bad, err)
		}
		w.wantAssets(nil)
	}
}

// TestListingGoesOnBesideApproval verifies that an interrupted listing resumes at its position, in
// step with the approved plan.
func TestListingGoesOnBesideApproval(t *testing.T) {
	t.Parallel()
	const all, pulled = 2500, 1700
	w := newWorld(t)
	for n := range all {
		w.put(fmt.Sprintf("%04d.jpg", n), "x")
	}
	r := migrate.DefaultRules()
	approval := w.approve(r)
	for n := 0; n < all; n += 10 {
		w.source.Delete(sources.Key(fmt.Sprintf("%04d.jpg", n)))
		w.put(fmt.Sprintf("%04d new.jpg", n), "new")
	}
	rules, err := json.Marshal(r)
	must(t, err)
	run, err := w.store.Begin(t.Context(), w.pair, "apply", rules)
	must(t, err)
	plan := func(s sources.Source) (migrate.Plan, error) {
		d := w.deps()
		d.Source = s
		planner := plan.New(d, r)
		planner.Approval = approval
		return planner.Plan(t.Context(), run)
	}
	if _, err := plan(breaksOff{w.source, pulled}); !errors.Is(err, errPulled) {
		t.Fatalf("a listing that breaks off: %v", err)
	}
	done, err := plan(w.source)
	must(t, err)
	w.wantStates(done, map[string]int64{"create planned": all - all/10, "skip changed": all / 10, "skip skipped": all / 10})
}

// breaksOff is a source whose listing ends early.
type breaksOff struct {
	sources.Source
	after int
}

func (s breaksOff) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		n := 0
		for o, err := range s.Source.Objects(ctx, after) {
			if n++; n > s.after {
				yield(sources.Object{}, errPulled)
				return
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// TestApprovedOrUntouched applies an approved plan after random changes of the library or its
// destination. It verifies that exactly the objects that did not drift are uploaded to the approved
// places, that nothing else is touched, and that applying the plan again changes nothing.
func TestApprovedOrUntouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		defer w.close()
		r, provenance := drawStrictRules(rt), drawProvenance(rt)
		r.Duplicates = "" // otherwise the objects that would share an asset report the drift of its owner
		r.OnCollision = rapid.SampledFrom([]string{"rename", "conflict"}).Draw(rt, "on collision")
		library := drawLibrary(rt)
		w.source.Replace(library)
		w.put("always.jpg", "there")
		for _, key := range slices.Sorted(maps.Keys(library)) {
			if rapid.IntRange(0, 3).Draw(rt, "there already") == 0 {
				w.uploadAtTop(string(key), string(library[key]))
			}
		}
		approval := w.approve(r)
		objects := w.objects()
		drifted := w.drift(rt, approval)
		want, acted := w.assetsAt(), 0
		names := w.categoryNames()
		for i, err := range approval.Items {
			must(w, err)
			if i.Action != state.Create && i.Action != state.Adopt {
				continue
			}
			o, there := w.objects()[string(i.Key)]
			switch {
			case drifted[string(i.Key)] || !there || o != objects[string(i.Key)]:
				drifted[string(i.Key)] = true
				continue
			case i.Action == state.Create:
				content := library[i.Key]
				if i.Key == "always.jpg" {
					content = []byte("there")
				}
				want = append(want, placed{cmp.Or(names[i.Category], strings.TrimPrefix(i.Category, "new:")), i.Folder, i.Name, checksum(string(content))})
			}
			acted++
		}
		sortPlaced(want)
		for attempt := range rapid.IntRange(0, 2).Draw(rt, "interruptions") {
			w.applyInterrupted(rt, attempt, approval, r, provenance)
		}
		plan := w.apply(approval, r, provenance)
		if diff := gocmp.Diff(want, w.assetsAt()); diff != "" {
			rt.Errorf("at the destination (-want +got):\n%s", diff)
		}
		states, listed := w.states(plan)
		// If an interruption comes too late, the run is complete, and this one is a new run.
		if done := states["create done"] + states["adopt done"] + states["unchanged skipped"]; done != int64(acted) || states["skip changed"] != int64(len(drifted)) {
			rt.Errorf("%v, want %d done and changed: %v", states, acted, drifted)
		}
		deleted := 0
		for key := range drifted {
			if _, there := w.objects()[key]; !there {
				deleted++
			}
		}
		if listed != w.listed()+int64(deleted) {
			rt.Errorf("the run accounts for %d objects, want %d and %d that are gone", listed, w.listed(), deleted)
		}
		if sent := writes(w.during(func() { w.apply(approval, r, provenance) })); len(sent) > 0 {
			rt.Errorf("to apply it again sent %v", sent)
		}
	})
}

// applyInterrupted starts or resumes an approved plan and interrupts it at some request, unless it
// completes before that. In some cases it lists the source again.
func (w *world) applyInterrupted(t *rapid.T, attempt int, a *plan.Approval, r migrate.Rules, provenance change) {
	w.Helper()
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	defer w.gate.on(nil)
	at := rapid.IntRange(1, 30).Draw(t, "interrupted at request")
	w.gate.on(func(n int, _ *http.Request) error {
		if n >= at {
			cancel(errPulled)
		}
		return nil
	})
	if attempt > 0 && rapid.Bool().Draw(t, "list anew") {
		w.relist(w.deps(), provenance)
	}
	if _, err := w.tryApproved(ctx, w.deps(), a, r, provenance); err != nil && !errors.Is(err, errPulled) {
		t.Fatal(err)
	}
}

// objects returns the metadata that identifies the version of each object, by key.
func (w *world) objects() map[string]sources.Object {
	w.Helper()
	all := map[string]sources.Object{}
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		all[string(o.Key)] = o
	}
	return all
}

// categoryNames returns the names of categories by ID.
func (w *world) categoryNames() map[string]string {
	w.Helper()
	names := map[string]string{}
	for c, err := range w.other.Categories(w.Context()) {
		must(w, err)
		names[c.ID] = c.Name
	}
	return names
}

// uploadAtTop uploads an asset directly into the category of its extension, if there is one.
func (w *world) uploadAtTop(name, content string) {
	w.Helper()
	category := map[string]string{".jpg": w.images, ".png": w.images, ".txt": w.texts}[strings.ToLower(path.Ext(name))]
	if category != "" && isClean(name) && !strings.Contains(name, "/") && !tooLong(name) && name[0] != '.' {
		w.upload(category, "", name, content)
	}
}

// namesakes returns the items that adopt assets of the same name as an item that adopts one, itself
// included. If only some of these assets were deleted, the others would match other objects.
func (w *world) namesakes(a *plan.Approval, of state.Item) (all []state.Item) {
	w.Helper()
	called := func(i state.Item) string { return strings.ToLower(norm.NFC.String(string(i.Key))) }
	for i, err := range a.Items {
		must(w, err)
		if of.Action == state.Adopt && i.Action == state.Adopt && called(i) == called(of) {
			all = append(all, i)
		}
	}
	return all
}

// drift makes random changes to the source and the destination. It returns the keys of the approved
// items that drift because of the destination.
func (w *world) drift(t *rapid.T, a *plan.Approval) map[string]bool {
	w.Helper()
	drifted := map[string]bool{}
	for i, err := range a.Items {
		must(w, err)
		switch key := i.Key; rapid.IntRange(0, 9).Draw(t, "drift") {
		case 0:
			w.source.Delete(key)
		case 1:
			w.source.PutObject(sources.Object{Key: key, Obstacle: sources.Unreadable}, nil)
		case 2:
			w.source.Put(key, drawContent(t))
		case 3:
			if i.Action == state.Create && i.Folder == "" && !strings.HasPrefix(i.Category, "new:") {
				w.upload(i.Category, "", i.Name, rapid.SampledFrom([]string{"x", "", "foreign"}).Draw(t, "foreign"))
				drifted[string(i.Key)] = true
			}
		case 4:
			for _, n := range w.namesakes(a, i) {
				if !drifted[string(n.Key)] {
					must(w, w.other.Trash(w.Context(), n.Asset))
					drifted[string(n.Key)] = true
				}
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "new objects") {
		w.source.Put(drawKey(t), drawContent(t))
	}
	return drifted
}
