package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// syncs plans and carries out a sync, which must come to its end.
func (w *world) syncs(r migrate.Rules) migrate.Plan {
	w.Helper()
	return w.syncWith(w.deps(), r)
}

// A folder of ten thousand that got another name is found by its contents and moved: no
// byte is sent. The night after has nothing to do.
func TestSyncOfARenamedFolder(t *testing.T) {
	t.Parallel()
	n := 10_000
	if slowdown > 1 {
		n = 500
	}
	w := newWorld(t)
	for n := range n {
		w.put(fmt.Sprintf("old/%05d.jpg", n), fmt.Sprint(n))
	}
	w.syncs(syncing())
	renamed := map[sources.Key][]byte{}
	for n := range n {
		renamed[sources.Key(fmt.Sprintf("new/%05d.jpg", n))] = []byte(fmt.Sprint(n))
	}
	w.source.Replace(renamed)
	var plan migrate.Plan
	asked := w.during(func() { plan = w.syncs(syncing()) })
	w.wantStates(plan, map[string]int64{"move done": int64(n)})
	if got, want := writes(asked), (map[string]int{"POST /assets/move": n / 100, "POST /folders": 1}); !maps.Equal(got, want) {
		t.Errorf("it wrote %v, want %v; it asked %v", got, want, asked)
	}
	if asked["GET /assets/{id}"] > 0 {
		t.Errorf("it asked for single assets: %v", asked)
	}
	t.Logf("%d renamed: %v", n, asked)
	asked = w.during(func() { plan = w.syncs(syncing()) })
	w.wantStates(plan, map[string]int64{"unchanged skipped": int64(n)})
	if len(asked) > 0 {
		t.Errorf("a quiet night asked %v", asked)
	}
}

// Assets go only once their objects have been missed long enough and in more than one run,
// and never more than may be.
func TestSyncTrashesWhatIsGone(t *testing.T) {
	w := newWorld(t)
	w.putMany(8)
	w.put("dir/a.jpg", "in a folder", "dir/b.jpg", "in a folder, too")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("000.jpg")
	w.source.Delete("dir/a.jpg")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "skip skipped": 2})
	w.source.Delete("001.jpg") // one that is missed for the first time waits
	w.put("dir/a.jpg", "in a folder")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "skip skipped": 1, "trash done": 1})
	if got := len(w.assetsAt()); got != 9 {
		t.Errorf("%d assets are left, want 9", got)
	}
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "trash done": 1})
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8})
	w.wantSound()
}

// What cannot be listed is not gone, and what it hides is left alone.
func TestSyncKeepsWhatIsHidden(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "locked/b.jpg", "b", "locked/c/d.jpg", "d", "lockedx.jpg", "x", "z.jpg", "z")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	for _, key := range []sources.Key{"locked/b.jpg", "locked/c/d.jpg", "z.jpg"} {
		w.source.Delete(key)
	}
	w.source.PutObject(sources.Object{Key: "locked/", Obstacle: sources.UnreadableDirectory}, nil)
	for range 3 {
		plan := w.syncs(removing)
		if i := w.item(plan, "locked/c/d.jpg"); i.Reason != string(migrate.ReasonUnseen) || i.State != state.ItemSkipped {
			t.Errorf("got %+v", i)
		}
	}
	want := []string{"a.jpg", "lockedx.jpg", "b.jpg", "d.jpg"} // by their places
	var got []string
	for _, a := range w.assetsAt() {
		got = append(got, a.Name)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// What only looks changed is read once: then it is known by what it looks like.
func TestSyncReadsWhatIsTouchedOnce(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.syncs(syncing())
	w.put("a.jpg", "a")
	plan := w.syncs(syncing())
	if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonSeeming) || i.State != state.ItemSkipped {
		t.Errorf("got %+v", i)
	}
	if plan = w.syncs(syncing()); plan.Run.Unchanged != 2 {
		t.Errorf("%d are unchanged, want 2", plan.Run.Unchanged)
	}
}

// An asset that somebody deleted comes back only when it is asked for, in its place.
func TestSyncRepairs(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.syncs(syncing())
	w.disturb("", map[string]string{"a.jpg": "trash"})
	if got := len(w.assetsAt()); got != 1 {
		t.Fatalf("%d assets", got)
	}
	w.syncs(syncing())
	if got := len(w.assetsAt()); got != 1 {
		t.Errorf("%d assets: it came back by itself", got)
	}
	repair := syncing(func(s *migrate.SyncRules) { s.Repair = true })
	plan := w.syncs(repair)
	if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonRepair) || i.State != state.ItemDone || i.Name != "a.jpg" {
		t.Errorf("got %+v", i)
	}
	if got := len(w.assetsAt()); got != 2 {
		t.Errorf("%d assets after a repair, want 2", got)
	}
	w.wantStates(w.syncs(repair), map[string]int64{"unchanged skipped": 2})
	w.wantSound()
}

// Only what did not arrive is taken, and nothing follows from what is missing.
func TestSyncOnlyWhatFailed(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	w.syncs(syncing())
	w.put("b.jpg", "changed b", "c.jpg", "changed c", "d.jpg", "d")
	w.source.Delete("a.jpg")
	only := syncing(func(s *migrate.SyncRules) { s.Delete, s.Failed = "trash", migrate.NewKeyList([]sources.Key{"b.jpg"}) })
	w.wantStates(w.syncs(only), map[string]int64{"replace done": 1, "skip skipped": 2})
}

// An asset that cannot be moved is not one whose object is gone, however often that fails.
func TestSyncKeepsWhatCannotBeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets/namesExist status=404")) // else it would not be tried
	w.put("old/a.jpg", "a", "b.jpg", "b")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.upload(w.images, w.folder(w.images, "", "new"), "a.jpg", "theirs")
	w.put("new/a.jpg", "a")
	w.source.Delete("old/a.jpg")
	for range 5 {
		w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "move failed": 1})
	}
	for range 3 {
		w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "move parked": 1})
	}
	if r := w.receipt("old/a.jpg"); r.Name != "a" {
		t.Errorf("its receipt is %+v", r)
	}
	w.wantAssets([]placed{{"Images", "", "b.jpg", digest("b")}, {"Images", "new", "a.jpg", digest("theirs")}, {"Images", "old", "a.jpg", digest("a")}})
}

// What a limit leaves out may be what is gone, under another key: then nothing is trashed.
func TestSyncWithALimitTrashesNothing(t *testing.T) {
	w := newWorld(t)
	w.put("old/a.jpg", "a", "old/b.jpg", "b", "c.jpg", "c")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Replace(map[sources.Key][]byte{"c.jpg": []byte("c"), "x/a.jpg": []byte("a"), "x/b.jpg": []byte("b"), "a.jpg": []byte("new")})
	limited := removing
	limited.Limit = 1
	w.wantStates(w.syncs(limited), map[string]int64{"unchanged skipped": 1, "create done": 1, "skip skipped": 4})
	w.wantStates(w.syncs(limited), map[string]int64{"unchanged skipped": 2, "move done": 1, "skip skipped": 2})
	w.wantStates(w.syncs(limited), map[string]int64{"unchanged skipped": 3, "move done": 1})
}

// An asset that was deleted comes back in the place that its object has now.
func TestSyncRepairsWhatWasRenamed(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.syncs(syncing())
	w.disturb("", map[string]string{"a.jpg": "trash"})
	w.source.Delete("a.jpg")
	w.put("c.jpg", "a")
	repair := syncing(func(s *migrate.SyncRules) { s.Repair = true })
	w.wantStates(w.syncs(repair), map[string]int64{"unchanged skipped": 1, "create done": 1})
	w.wantStates(w.syncs(repair), map[string]int64{"unchanged skipped": 2})
	w.wantSound()
}

// forgets has the journal be one of a version that did not note when an asset was changed last.
func (w *world) forgets() { w.alter(`UPDATE receipts SET modified = NULL`) }

// Where nobody noted when an asset was changed last, its revisions tell whether somebody
// gave it another content.
func TestSyncLooksAtRevisionsOfWhatAnOlderVersionLeft(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c", "d.jpg", "d")
	always := func(a *apply.Applier) { a.Provenance = "always" }
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncWith(w.deps(), removing, always)
	w.forgets()
	for _, key := range []string{"a.jpg", "c.jpg"} {
		_, err := w.other.Replace(t.Context(), w.receipt(key).Asset, replacement(key, "!"))
		must(t, err)
	}
	w.put("a.jpg", "A", "b.jpg", "B")
	w.source.Delete("c.jpg")
	w.source.Delete("d.jpg")
	w.wantStates(w.syncWith(w.deps(), removing, always), map[string]int64{"conflict conflict": 1, "replace done": 1, "skip skipped": 2})
	w.forgets()
	plan := w.syncWith(w.deps(), removing, always)
	if i := w.item(plan, "c.jpg"); i.Reason != string(migrate.ReasonEditedThere) {
		t.Errorf("what somebody edited is %s (%s)", i.Action, i.Reason)
	}
	if i := w.item(plan, "d.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
		t.Errorf("what nobody edited is %s (%s)", i.Action, i.Reason)
	}
}

// What cannot be taken for now may be what is gone, under another key: its asset is not
// trashed as long as nobody can tell.
func TestSyncWaitsForWhatMayHaveMoved(t *testing.T) {
	w := newWorld(t)
	w.put("old/a.jpg", "picture", "b.jpg", "another picture")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("old/a.jpg")
	w.source.Delete("b.jpg")
	w.put("c.jpg", "to be there")
	w.source.PutObject(sources.Object{Key: "new/a.jpg", Size: int64(len("picture")), Obstacle: sources.Unreadable}, nil)
	for range 3 {
		w.syncs(removing)
	}
	if _, err := w.journal.Receipt(t.Context(), w.pair.ID, "b.jpg"); err == nil {
		t.Error("b.jpg is still there: an object that cannot be read blocks what has another size")
	}
	id := w.receipt("old/a.jpg").Asset
	w.put("new/a.jpg", "picture")
	plan := w.syncs(removing)
	if i := w.item(plan, "new/a.jpg"); i.Action != state.Move || i.Asset != id {
		t.Errorf("got %+v", i)
	}
}

// Nothing is left to try of an object that failed and is as it had arrived, or is gone.
func TestSyncForgetsFailuresThatAreOver(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	w.syncs(syncing())
	w.put("a.jpg", "a changed", "b.jpg", "b changed", "c.jpg", "c changed", "d.jpg", "d")
	refuse := func(_ int, r *http.Request) error {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/assets") {
			return errors.New("refused")
		}
		return nil
	}
	w.gate.on(refuse)
	if _, err := w.tryWith(t.Context(), w.deps(), syncing(), func(a *apply.Applier) { a.RetryPauses, a.Wait = nil, 0 }); err != nil {
		t.Logf("ended with %v", err)
	}
	w.gate.on(nil)
	w.put("a.jpg", "a")
	w.source.Delete("b.jpg")
	w.source.Delete("d.jpg")
	run, err := w.journal.Unfinished(t.Context(), w.pair.ID)
	if err == nil {
		must(t, w.applier(w.deps()).SettleDoubts(t.Context(), run))
		must(t, w.journal.Relist(t.Context(), run.Num))
	}
	w.syncs(syncing())
	for f, err := range w.journal.Failures(t.Context(), w.pair.ID, "") {
		must(t, err)
		t.Errorf("%s is said to fail (%s)", f.Key, f.Error)
	}
}
