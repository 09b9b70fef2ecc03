package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"assetferry/internal/assets"
	inject "assetferry/internal/test/faults"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/state"
)

func marshal(w *world, r migrate.Rules) json.RawMessage {
	w.Helper()
	b, err := json.Marshal(r)
	must(w, err)
	return b
}

func TestLostStateDatabaseEndsInAdoption(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	w.put("A.jpg", "another") // precedes a.jpg, which is then renamed
	w.migrate(migrate.DefaultRules())
	before := w.assetsAt()
	if len(before) != len(want)+1 {
		t.Fatalf("got %d assets", len(before))
	}
	w.loseState()
	var plan migrate.Plan
	asked := w.during(func() { plan = w.migrate(migrate.DefaultRules()) })
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	w.wantStates(plan, map[string]int64{"adopt done": 7})
	w.wantAssets(before)
	for r, err := range w.store.Receipts(t.Context(), w.pair.ID, "") {
		if err != nil || !r.Adopted {
			t.Errorf("%s is not marked as adopted (%v)", r.Key, err)
		}
	}
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"unchanged skipped": 7})
}

// TestAssetThatCannotBeCompared verifies that an asset whose content the service refuses to send is
// one conflict, and does not fail the plan.
func TestAssetThatCannotBeCompared(t *testing.T) {
	w := newWorld(t, faults(t, "GET /{workspaceId}/assets/{id}/file status=410 once=1"))
	w.put("a.jpg", "a", "b.jpg", "b")
	w.upload(w.images, "", "a.jpg", "a")
	w.upload(w.images, "", "b.jpg", "b")
	plan := w.migrate(migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"conflict conflict": 1, "adopt done": 1})
	if n := len(w.assetsAt()); n != 2 {
		t.Errorf("got %d assets, want 2", n)
	}
}

func TestLostStateDatabaseAndPilots(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	w.migrate(migrate.DefaultRules())
	w.loseState()
	r := migrate.DefaultRules()
	r.Limit = 2
	for range 4 {
		w.migrate(r)
	}
	w.wantAssets(want)
}

func TestLostStateDatabaseAndFilters(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	w.put("b.jpg", "b")
	want = append(want, placed{"Images", "", "b.jpg", checksum("b")})
	sortPlaced(want)
	w.migrate(migrate.DefaultRules())
	w.loseState()
	for _, glob := range []string{"a.jpg", "dir/b.png", "*"} {
		r := migrate.DefaultRules()
		r.Include = []string{glob}
		w.migrate(r)
	}
	w.wantAssets(want)
}

func TestLostStateDatabaseAndListedAgain(t *testing.T) {
	w := newWorld(t)
	want := w.small()
	w.migrate(migrate.DefaultRules())
	w.loseState()
	ctx, cancel := context.WithCancel(t.Context())
	w.gate.on(func(n int, r *httpRequest) error {
		if len(r.URL.Path) > len("/assets/") && r.URL.Path[:8] == "/assets/" { // the first adoption
			cancel()
		}
		return nil
	})
	plan, err := w.try(ctx, migrate.DefaultRules(), func(a *apply.Applier) { a.Concurrency = 1 })
	if err == nil {
		t.Fatal("want an interrupted run")
	}
	w.gate.on(nil)
	must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run))
	must(t, w.store.Relist(t.Context(), plan.Run.Num))
	w.migrate(migrate.DefaultRules())
	w.wantAssets(want)
}

func TestAnotherAssetOfThatName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		first  map[string]int64
		assets int
	}{
		{"conflict", map[string]int64{"create done": 1, "adopt done": 1, "conflict conflict": 2}, 5},
		{"adopt", map[string]int64{"create done": 1, "adopt done": 2, "conflict conflict": 1}, 5}, // by name and size
		{"create", map[string]int64{"create done": 4}, 8},
	} {
		t.Run(tc.policy, func(t *testing.T) {
			w := newWorld(t)
			w.put("equal.jpg", "equal", "dir/other.jpg", "mine", "dir/free.jpg", "free", "sized.jpg", "longer")
			dir := w.folder(w.images, "", "dir")
			w.upload(w.images, "", "equal.jpg", "equal")
			w.upload(w.images, dir, "OTHER.jpg", "them")
			w.upload(w.images, dir, "unrelated.jpg", "x")
			w.upload(w.images, "", "sized.jpg", "short")
			r := migrate.DefaultRules()
			r.OnExisting = tc.policy
			w.wantStates(w.migrate(r), tc.first)
			if got := len(w.assetsAt()); got != tc.assets {
				t.Errorf("got %d assets, want %d", got, tc.assets)
			}
			// Another run decides the same as the first, and only uploads the new objects.
			w.put("dir/new.jpg", "new", "new.jpg", "new")
			w.migrate(r)
			if got := len(w.assetsAt()); got != tc.assets+2 {
				t.Errorf("got %d assets after another run, want %d", got, tc.assets+2)
			}
		})
	}
}

func TestConflictEndsWhenThePlaceIsFree(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "mine", "b.jpg", "b")
	theirs := w.upload(w.images, "", "a.jpg", "theirs")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1, "conflict conflict": 1})
	must(t, w.other.Trash(t.Context(), theirs.ID))
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1, "unchanged skipped": 1})
}

func TestAdoptedAssetThatVanishes(t *testing.T) {
	w := newWorld(t)
	theirs := w.upload(w.images, "", "a.jpg", "a")
	w.put("a.jpg", "a")
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", marshal(w, migrate.DefaultRules()))
	must(t, err)
	plan, err := plan.New(w.deps(), migrate.DefaultRules()).Plan(t.Context(), run)
	must(t, err)
	must(t, w.other.Trash(t.Context(), theirs.ID))
	must(t, w.applier(w.deps()).Apply(t.Context(), plan.Run))
	w.wantStates(plan, map[string]int64{"adopt failed": 1})
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1})
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}})
}

func TestDryRunBeforehandHidesNothing(t *testing.T) {
	w := newWorld(t)
	dir := w.folder(w.images, "", "dir")
	w.put("dir/a.jpg", "a")
	w.plan(migrate.DefaultRules())
	w.upload(w.images, dir, "a.jpg", "a")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1})
}

// TestTwoSources verifies that a second source also checks for existing assets, unless all assets
// at the destination are ours.
func TestTwoSources(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	w.upload(w.images, "", "b.jpg", "b")
	var err error
	w.pair, err = w.store.Pair(t.Context(), "another", w.pair.Destination, w.url)
	must(t, err)
	w.source.Delete("a.jpg")
	w.put("b.jpg", "b")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1})
}

func TestInterruptedPlanStartsOver(t *testing.T) {
	w := newWorld(t)
	w.upload(w.images, "", "a.jpg", "a")
	w.put("a.jpg", "a", "b.jpg", "b")
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", marshal(w, migrate.DefaultRules()))
	must(t, err)
	w.before(failing(inject.Err), "stage inventory")
	if _, err := plan.New(w.deps(), migrate.DefaultRules()).Plan(t.Context(), run); err == nil {
		t.Fatal("want the state database to fail")
	}
	w.unhook()
	plan := w.migrate(migrate.DefaultRules())
	if plan.Run.ID != run.ID {
		t.Error("the run was not continued")
	}
	w.wantStates(plan, map[string]int64{"adopt done": 1, "create done": 1})
	if _, err := w.store.Item(t.Context(), plan.Run.Num, "a.jpg"); err != nil {
		t.Error(err)
	}
	if entries, err := w.store.EntriesAt(t.Context(), state.RunScope(plan.Run.Num), []int64{0}); err != nil || len(entries) > 0 {
		t.Errorf("an inventory was left behind: %v (%v)", entries, err)
	}
}

// TestManyPlaces verifies that one request checks the places of many objects.
func TestManyPlaces(t *testing.T) {
	w := newWorld(t)
	w.upload(w.images, "", "000.jpg", "a")
	for n := range 300 {
		w.put(fmt.Sprintf("%03d.jpg", n), "a")
	}
	asked := w.asked("look up inventory")
	w.wantStates(w.syncs(syncRules("keep")), map[string]int64{"adopt done": 1, "create done": 299})
	if n := asked(); n == 0 || n > 5 {
		t.Errorf("asked %d times", n)
	}
}

// TestPlaceThatChangesWhileItIsListed verifies that no asset is missed when, between two pages of a
// place, a user deletes one asset and adds another: the list moves an asset to the page before.
func TestPlaceThatChangesWhileItIsListed(t *testing.T) {
	w := newWorld(t)
	var first assets.Asset
	for n := range 120 {
		key := fmt.Sprintf("%03d.jpg", n)
		a := w.upload(w.images, "", key, "a")
		if n == 0 {
			first = a
			continue
		}
		w.put(key, "a")
	}
	changed := false
	w.gate.on(func(_ int, r *http.Request) error {
		if q := r.URL.Query(); !changed && r.Method == http.MethodGet && q.Get("categoryId") == w.images && q.Get("offset") != "0" {
			changed = true
			must(t, w.other.Trash(t.Context(), first.ID))
			w.upload(w.images, "", "added.jpg", "b")
		}
		return nil
	})
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 119})
	if !changed {
		t.Error("nothing changed meanwhile")
	}
}

// TestPlaceOfALaterObject verifies that an asset in the place of an object may belong to another
// object, later by key. It then blocks neither of them, whether the object shares an asset or gets
// one of its own.
func TestPlaceOfALaterObject(t *testing.T) {
	const earlier, later = "e\u0301.jpg", "\u00e9.JPG"
	for _, tc := range []struct {
		duplicates string
		want       map[string]int64
	}{
		{"one-asset", map[string]int64{"adopt done": 3}},
		{"", map[string]int64{"adopt done": 2, "create done": 1}},
	} {
		w := newWorld(t)
		w.put("a.jpg", "a", earlier, "a", later, "different")
		w.upload(w.images, "", "a.jpg", "a")
		w.upload(w.images, "", later, "different")
		r := migrate.DefaultRules()
		r.OnCollision, r.Duplicates = "keep", tc.duplicates
		w.wantStates(w.migrate(r), tc.want)
	}
}

func TestSecondPassForgetsTheFirst(t *testing.T) {
	w := newWorld(t)
	theirs := w.upload(w.images, "", "a.jpg", "a")
	w.put("a.jpg", "a")
	w.before(failing(inject.Err), "finish plan")
	if _, err := w.try(t.Context(), migrate.DefaultRules()); !errors.Is(err, inject.Err) {
		t.Fatalf("got %v", err)
	}
	w.unhook()
	must(t, w.other.Trash(t.Context(), theirs.ID))
	run, err := w.store.Unfinished(t.Context(), w.pair)
	must(t, err)
	plan, err := plan.New(w.deps(), migrate.DefaultRules()).Plan(t.Context(), run)
	must(t, err)
	if i := w.item(plan, "a.jpg"); i.Action != state.Create || i.Asset != "" || i.Checksum != nil {
		t.Errorf("got %+v", i)
	}
}

// TestDuplicatesFindTheirOwn verifies that each of several duplicates, whose names differ only in
// the case of their extensions, finds its own asset again.
func TestDuplicatesFindTheirOwn(t *testing.T) {
	w := newWorld(t)
	for n := range 10 {
		w.put(fmt.Sprintf("%d.JPG", n), "twin", fmt.Sprintf("%d.jpg", n), "twin")
	}
	r := migrate.DefaultRules()
	r.OnCollision = "keep"
	w.migrate(r)
	w.loseState()
	w.wantStates(w.migrate(r), map[string]int64{"adopt done": 20})
	for receipt, err := range w.store.Receipts(t.Context(), w.pair.ID, "") {
		must(t, err)
		if name := receipt.Name + "." + receipt.Extension; name != string(receipt.Key) {
			t.Errorf("%s is %s", receipt.Key, name)
		}
	}
}

// TestTwoSourcesOneDestination verifies that the same library under another path is another source
// by its name. Its objects exist at the destination and are not uploaded again, and no object takes
// the place of another source's object.
func TestTwoSourcesOneDestination(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "dir/b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	want := w.assetsAt()
	first := w.pair
	var err error
	w.pair, err = w.store.Pair(t.Context(), "the same, moved", first.Destination, w.url)
	must(t, err)
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 2})
	w.wantAssets(want)
	w.put("dir/b.jpg", "another", "dir/c.jpg", "c")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1, "skip skipped": 1, "unchanged skipped": 1})

	w.pair = first // it now finds another asset of the same name
	w.put("dir/c.jpg", "not that c")
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"unchanged skipped": 1, "skip skipped": 1, "conflict conflict": 1})
}
