package engine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/migrate/verify"
	"assetferry/state"
)

// withAnotherState returns the same world with another state database, as another user has it.
func (w *world) withAnotherState() *world {
	w.Helper()
	other := *w
	other.store, other.watch = nil, &witness{}
	other.openState(filepath.Join(w.TempDir(), "another.db"))
	w.Cleanup(func() { must(w, other.store.Close()) })
	return &other
}

// migrateBoth plans with two state databases before either run sends anything.
func migrateBoth(w, other *world, r migrate.Rules) {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "migrate", marshal(w, r))
	must(w, err)
	plan, err := plan.New(w.deps(), r).Plan(w.Context(), run)
	must(w, err)
	other.migrate(r)
	must(w, w.applier(w.deps()).Apply(w.Context(), plan.Run))
}

// withoutIDs removes the IDs at the end of messages.
func withoutIDs(found []string) []string {
	for n, s := range found {
		before, _, _ := strings.Cut(s, ": ")
		found[n] = before
	}
	return found
}

const oneFurther = " has 1 extra asset with its name and size in the same place"

func TestVerifyFindsWhatAnotherStateSent(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "dir/b.jpg", "b", "c.txt", "c")
	other := w.withAnotherState()
	migrateBoth(w, other, migrate.DefaultRules())
	if n := len(w.assetsAt()); n != 6 {
		t.Fatalf("%d assets are there, want each of 3 twice", n)
	}
	want := []string{"a.jpg" + oneFurther, "c.txt" + oneFurther, "dir/b.jpg" + oneFurther}
	for name, w := range map[string]*world{"first": w, "second": other} {
		var v state.Verification
		var found []string
		asked := w.during(func() { v, found = w.verify(w.deps(), verify.LevelListing, 0) })
		if diff := gocmp.Diff(want, withoutIDs(found)); diff != "" || v.Differences != 3 || v.Receipts != 3 {
			t.Errorf("%s: got %+v; found (-want +got):\n%s", name, v, diff)
		}
		if sent := writes(asked); len(sent) > 0 {
			t.Errorf("%s: sent %v", name, sent)
		}
		last, err := w.store.LastVerification(t.Context(), w.pair.ID)
		must(t, err)
		for d, err := range w.store.CurrentDifferences(t.Context(), last.Pair) {
			must(t, err)
			if d.Field != migrate.FieldFurther {
				t.Errorf("%s: the state database has a difference of %q", name, d.Field)
			}
		}
	}
}

// TestVerifyLeavesOtherAssetsAlone verifies that one of two assets is reported as superfluous only
// if name, size and place are the same.
func TestVerifyLeavesOtherAssetsAlone(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "u\u0308.jpg", "u")
	w.migrate(migrate.DefaultRules())
	w.upload(w.images, "", "b.jpg", "a")
	w.upload(w.images, "", "A.jpg", "a")
	w.upload(w.images, "", "a.png", "a")
	w.upload(w.images, "", "a.jpg", "more")
	w.upload(w.images, w.folder(w.images, "", "dir"), "a.jpg", "a")
	if v, found := w.verify(w.deps(), verify.LevelListing, 0); v.Differences != 0 || len(found) > 0 {
		t.Errorf("got %+v, %q", v, found)
	}
	one, two := w.upload(w.images, "", "a.JPG", "b"), w.upload(w.images, "", "a.jpg", "c")
	three := w.upload(w.images, "", "\u00fc.jpg", "v")
	_, found := w.verify(w.deps(), verify.LevelListing, 0)
	ids := []string{one.ID, two.ID}
	if one.ID > two.ID {
		ids = []string{two.ID, one.ID}
	}
	want := []string{
		"a.jpg has 2 extra assets with its name and size in the same place: " + strings.Join(ids, ", "),
		"u\u0308.jpg has 1 extra asset with its name and size in the same place: " + three.ID,
	}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

// TestVerifyNotesWhatWasThereBefore verifies that an asset that existed when ours was planned is
// not reported as a difference, whatever becomes of the items of that run, and neither is an asset
// of another source in the same state database.
func TestVerifyNotesWhatWasThereBefore(t *testing.T) {
	duplicate := migrate.DefaultRules()
	duplicate.OnExisting = "create"
	for name, tc := range map[string]struct {
		there []string
		rules migrate.Rules
	}{
		"sent beside it":         {[]string{"x"}, duplicate},
		"one of two was adopted": {[]string{"a", "a"}, migrate.DefaultRules()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, content := range tc.there {
				w.upload(w.texts, "", "a.txt", content)
			}
			w.put("a.txt", "a")
			w.migrate(tc.rules)
			v, found := w.verify(w.deps(), verify.LevelListing, 0)
			if v.Differences != 0 || len(found) > 0 {
				t.Errorf("got %+v, %q", v, found)
			}
			want := []string{"a.txt" + oneFurther + ", which was there before"}
			if diff := gocmp.Diff(want, withoutIDs(w.watch.found(true))); diff != "" {
				t.Errorf("noted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerifyKnowsAssetsOfOtherSources(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	first := w.pair
	var err error
	w.pair, err = w.store.Pair(t.Context(), "another", w.pair.Destination, w.url)
	must(t, err)
	w.put("a.jpg", "b")
	r := migrate.DefaultRules()
	r.OnExisting = "create"
	w.migrate(r)
	for _, pair := range []state.Pair{first, w.pair} {
		w.pair = pair
		if v, found := w.verify(w.deps(), verify.LevelListing, 0); v.Differences != 0 || len(found) > 0 {
			t.Errorf("%s: got %+v, %q", pair.Source, v, found)
		}
	}
}

func TestPlanCountsNamesThatAreThereTwice(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	migrateBoth(w, w.withAnotherState(), r)
	w.put("new.jpg", "new")
	var plan migrate.Plan
	usual := w.during(func() { plan = w.plan(r) })
	if plan.DuplicateNames != 3 {
		t.Errorf("%d names are there more than once, want 3", plan.DuplicateNames)
	}
	if sent := writes(usual); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// TestPlanCountsNamesOfManyPages verifies that names are counted across the pages of a listing,
// which overlap.
func TestPlanCountsNamesOfManyPages(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		for n := range 60 {
			w.upload(w.images, "", fmt.Sprintf("%d.jpg", n), "x")
		}
	}
	w.put("new.jpg", "new")
	if plan := w.plan(migrate.DefaultRules()); plan.DuplicateNames != 60 {
		t.Errorf("%d names are there more than once, want 60", plan.DuplicateNames)
	}
}

// TestPlanDoesNotCountWhatWasThereBefore verifies that an asset uploaded on purpose, despite one of
// the same name, is not reported by every plan.
func TestPlanDoesNotCountWhatWasThereBefore(t *testing.T) {
	w := newWorld(t)
	w.upload(w.images, "", "a.jpg", "x")
	w.put("a.jpg", "a")
	r := migrate.DefaultRules()
	r.OnExisting = "create"
	if plan := w.migrate(r); plan.DuplicateNames != 0 {
		t.Errorf("%d names are there more than once before anything was sent", plan.DuplicateNames)
	}
	w.put("new.jpg", "new")
	if plan := w.plan(r); plan.DuplicateNames != 0 {
		t.Errorf("%d names are there more than once, want none but the one that was sent beside another", plan.DuplicateNames)
	}
}

// TestVerifyNotesReplacedByNewAsset verifies that the former asset of an object that got a new one
// counts as ours.
func TestVerifyNotesReplacedByNewAsset(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a")
	w.migrate(migrate.DefaultRules())
	former := w.receipt("a.txt").Asset
	r := syncRules("keep")
	r.Sync.OnReplaceRefused, r.Sync.Delete = "new-asset", "never"
	plan := w.planSync(r, w.changesTo("a.txt", "A"))
	w.gate.next = refusing{w.gate.next, 405}
	w.completes(plan)
	if v, found := w.verify(w.deps(), verify.LevelChecksum, 0); v.Differences != 0 || len(found) > 0 {
		t.Errorf("got %+v, %q", v, found)
	}
	want := []string{"a.txt has 1 extra asset with its name and size in the same place, which was there before: " + former}
	if diff := gocmp.Diff(want, w.watch.found(true)); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}
