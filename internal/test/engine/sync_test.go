package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// syncs plans and applies a sync, and fails the test unless the run completes.
func (w *world) syncs(r migrate.Rules) migrate.Plan {
	w.Helper()
	return w.syncWith(w.deps(), r)
}

// TestSyncOfARenamedFolder verifies that a renamed folder of ten thousand objects is matched by
// content and moved without an upload, and that the next run has nothing to do.
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
		t.Errorf("a unchanged sync asked %v", asked)
	}
}

// TestSyncTrashesDeletedObjects verifies that assets are trashed only when their objects have been
// missing for the grace period and in more than one run, and never more than the limits allow.
func TestSyncTrashesDeletedObjects(t *testing.T) {
	w := newWorld(t)
	w.putMany(8)
	w.put("dir/a.jpg", "in a folder", "dir/b.jpg", "in a folder, too")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("000.jpg")
	w.source.Delete("dir/a.jpg")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "skip skipped": 2})
	w.source.Delete("001.jpg") // an object that is missing for the first time
	w.put("dir/a.jpg", "in a folder")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "skip skipped": 1, "trash done": 1})
	if got := len(w.assetsAt()); got != 9 {
		t.Errorf("%d assets are left, want 9", got)
	}
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8, "trash done": 1})
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 8})
	w.wantSound()
}

// TestSyncKeepsWhatIsHidden verifies that objects that cannot be listed do not count as deleted,
// and that their assets are kept.
func TestSyncKeepsWhatIsHidden(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "locked/b.jpg", "b", "locked/c/d.jpg", "d", "lockedx.jpg", "x", "z.jpg", "z")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("locked/b.jpg")
	w.source.Delete("locked/c/d.jpg")
	w.source.PutObject(sources.Object{Key: "locked/", Obstacle: sources.UnreadableDirectory}, nil)
	w.syncs(removing)
	w.source.Delete("z.jpg")
	for range 3 {
		plan := w.syncs(removing)
		if i := w.item(plan, "locked/c/d.jpg"); i.Reason != string(migrate.ReasonFolderNotRead) || i.State != state.ItemSkipped {
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

// TestSyncReadsWhatIsTouchedOnce verifies that an object with a new time only is read once, and
// then known by its new time.
func TestSyncReadsWhatIsTouchedOnce(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.syncs(syncing())
	w.put("a.jpg", "a")
	plan := w.syncs(syncing())
	if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonOnlyVersionChanged) || i.State != state.ItemSkipped {
		t.Errorf("got %+v", i)
	}
	if plan = w.syncs(syncing()); plan.Run.Unchanged != 2 {
		t.Errorf("%d are unchanged, want 2", plan.Run.Unchanged)
	}
}

// TestSyncRepairs verifies that an asset that a user deleted is created again, in its place, only
// with --repair.
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
	if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonAssetDeletedCreated) || i.State != state.ItemDone || i.Name != "a.jpg" {
		t.Errorf("got %+v", i)
	}
	if got := len(w.assetsAt()); got != 2 {
		t.Errorf("%d assets after a repair, want 2", got)
	}
	w.wantStates(w.syncs(repair), map[string]int64{"unchanged skipped": 2})
	w.wantSound()
}

// TestSyncOnlyWhatFailed verifies that a sync of the failed objects takes only those, and draws no
// conclusion from missing objects.
func TestSyncOnlyWhatFailed(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	w.syncs(syncing())
	w.put("b.jpg", "changed b", "c.jpg", "changed c", "d.jpg", "d")
	w.source.Delete("a.jpg")
	only := syncing(func(s *migrate.SyncRules) { s.Delete, s.Failed = "trash", migrate.NewKeyList([]sources.Key{"b.jpg"}) })
	w.wantStates(w.syncs(only), map[string]int64{"replace done": 1, "skip skipped": 2})
}

// TestSyncKeepsWhatCannotBeMoved verifies that an asset that cannot be moved is not trashed,
// however often that fails.
func TestSyncKeepsWhatCannotBeMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets/namesExist status=404")) // otherwise the run would not try the move
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
		w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "move retries_exhausted": 1})
	}
	if r := w.receipt("old/a.jpg"); r.Name != "a" {
		t.Errorf("its receipt is %+v", r)
	}
	w.wantAssets([]placed{{"Images", "", "b.jpg", checksum("b")}, {"Images", "new", "a.jpg", checksum("theirs")}, {"Images", "old", "a.jpg", checksum("a")}})
}

// TestSyncWithALimitTrashesNothing verifies that nothing is trashed under a limit, since an object
// beyond the limit may be a deleted one under another key.
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

// TestSyncRepairsWhatWasRenamed verifies that an asset that is created again goes to the present
// place of its object.
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

// forgets removes the modification times of assets from the state database, as in an older version.
func (w *world) forgets() { w.alter(`UPDATE receipts SET modified = NULL`) }

// TestSyncLooksAtRevisionsOfWhatAnOlderVersionLeft verifies that, if the state database has no
// modification time, the revisions of an asset show whether a user changed its content.
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
	if i := w.item(plan, "c.jpg"); i.Reason != string(migrate.ReasonAssetEdited) {
		t.Errorf("what somebody edited is %s (%s)", i.Action, i.Reason)
	}
	if i := w.item(plan, "d.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
		t.Errorf("what nobody edited is %s (%s)", i.Action, i.Reason)
	}
}

// TestSyncWaitsForWhatMayHaveMoved verifies that an asset is not trashed while its object may have
// moved to an unreadable key.
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
	if _, err := w.store.Receipt(t.Context(), w.pair.ID, "b.jpg"); err == nil {
		t.Error("b.jpg is still there: an object that cannot be read blocks what has another size")
	}
	id := w.receipt("old/a.jpg").Asset
	w.put("new/a.jpg", "picture")
	plan := w.syncs(removing)
	if i := w.item(plan, "new/a.jpg"); i.Action != state.Move || i.Asset != id {
		t.Errorf("got %+v", i)
	}
}

// TestSyncWaitsForWhatHasNoSize verifies that nothing is trashed while an unreadable folder or
// object without a size may hold all deleted objects under other keys.
func TestSyncWaitsForWhatHasNoSize(t *testing.T) {
	t.Parallel()
	for _, o := range []sources.Object{
		{Key: "press/", Obstacle: sources.UnreadableDirectory},
		{Key: "press/a.jpg", Obstacle: sources.Unreadable},
		{Key: "press/a.jpg", Obstacle: sources.Unreadable.Because("the server answers 500")},
		{Key: "press/a.jpg", Obstacle: sources.Miswritten.Because("its URL is invalid")},
	} {
		w := newWorld(t)
		w.put("photos/a.jpg", "picture", "b.jpg", "another picture", "c.jpg", "to be there")
		removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
		w.syncs(removing)
		id := w.receipt("photos/a.jpg").Asset
		w.source.Delete("photos/a.jpg")
		w.source.PutObject(o, nil)
		narrow := syncing(func(s *migrate.SyncRules) { s.Failed = migrate.NewKeyList([]sources.Key{"c.jpg"}) })
		w.syncs(narrow) // meets the obstacle and does not search for deleted objects
		w.syncs(removing)
		for range 2 {
			plan := w.syncs(removing)
			if i := w.item(plan, "photos/a.jpg"); i.State != state.ItemSkipped || i.Reason != string(migrate.ReasonPossiblyMoved) {
				t.Fatalf("%s: got %+v", o.Obstacle, i)
			}
		}
		w.source.Delete("b.jpg") // after the unreadable object was listed
		w.syncs(removing)
		if i := w.item(w.syncs(removing), "b.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
			t.Errorf("%s: what is gone since is %s (%s)", o.Obstacle, i.Action, i.Reason)
		}
		w.source.Delete(o.Key)
		w.put("press/a.jpg", "picture")
		if i := w.item(w.syncs(removing), "press/a.jpg"); i.Action != state.Move || i.Asset != id {
			t.Errorf("%s: got %+v", o.Obstacle, i)
		}
		w.close()
	}
}

// TestSyncTrashesBesideWhatWasNeverRead verifies that an obstacle does not hold back trashing if it
// is older than the deletion, or no longer listed.
func TestSyncTrashesBesideWhatWasNeverRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there", "empty.jpg", "")
	w.source.PutObject(sources.Object{Key: "lost+found/", Obstacle: sources.UnreadableDirectory}, nil)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("a.jpg")
	w.source.Delete("empty.jpg")
	w.syncs(removing)
	w.source.PutObject(sources.Object{Key: "new/", Obstacle: sources.UnreadableDirectory}, nil)
	if i := w.item(w.syncs(removing), "a.jpg"); i.Reason != string(migrate.ReasonPossiblyMoved) {
		t.Errorf("beside a folder that is new: %s (%s)", i.Action, i.Reason)
	}
	w.source.Delete("new/")
	plan := w.syncs(removing)
	for _, key := range []string{"a.jpg", "empty.jpg"} {
		if i := w.item(plan, key); i.Action != state.Trash || i.State != state.ItemDone {
			t.Errorf("beside a folder that nobody could ever read: %s: %s (%s)", key, i.Action, i.Reason)
		}
	}
}

// TestSyncTrashesBesideKnownObjectsThatFail verifies that a known object that is unreadable holds
// back nothing: it has its own asset, so a deleted object cannot have moved there. This is also
// true if each run has a different one.
func TestSyncTrashesBesideKnownObjectsThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture")
	w.putMany(4)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("a.jpg")
	w.source.PutObject(sources.Object{Key: "000.jpg", Obstacle: sources.Unreadable}, nil)
	w.source.PutObject(sources.Object{Key: "003.jpg", Size: int64(len("picture")), Obstacle: sources.Unreadable}, nil)
	w.syncs(removing)
	w.put("000.jpg", "0")
	w.source.PutObject(sources.Object{Key: "001.jpg", Obstacle: sources.Unreadable.Because("the server answers 500")}, nil)
	plan := w.syncs(removing)
	if i := w.item(plan, "001.jpg"); i.State != state.ItemFailed {
		t.Fatalf("got %+v", i)
	}
	if i := w.item(plan, "a.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
		t.Errorf("beside known objects that fail: %s (%s)", i.Action, i.Reason)
	}
}

// passDays moves all times in the state database back by n days.
func (w *world) passDays(n int) {
	w.Helper()
	for _, column := range []string{"runs SET listed_at = listed_at", "orphans SET since = since"} {
		w.alter(fmt.Sprintf("UPDATE %s - %d", column, int64(n)*24*time.Hour.Milliseconds()))
	}
}

// TestSyncAsksNoMoreRunsThanItMust verifies that unreadable objects are looked up in earlier runs
// only if something would be trashed, and no further back than those objects existed.
func TestSyncAsksNoMoreRunsThanItMust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there")
	w.source.PutObject(sources.Object{Key: "lost+found/", Obstacle: sources.UnreadableDirectory}, nil)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 20*time.Hour })
	day := func() (plan migrate.Plan, asked int) {
		w.passDays(1)
		w.before(func() error { asked++; return nil }, "find unsized objects")
		defer w.unhook()
		return w.syncs(removing), asked
	}
	for range 5 {
		day()
	}
	w.source.Delete("a.jpg")
	if _, asked := day(); asked != 0 {
		t.Errorf("where nothing has been gone for long enough, %d runs were asked", asked)
	}
	plan, asked := day()
	if i := w.item(plan, "a.jpg"); i.Action != state.Trash || asked != 2 {
		t.Errorf("%s (%s) after %d runs were asked, want the one that missed it and the one before", i.Action, i.Reason, asked)
	}
}

// TestSyncFindsTheNewOneAmongManyUnreadable verifies that, among any number of unreadable objects,
// a single new one holds back trashing.
func TestSyncFindsTheNewOneAmongManyUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there")
	obstruct := func(key string) {
		w.source.PutObject(sources.Object{Key: sources.Key(key), Obstacle: sources.Unreadable}, nil)
	}
	for n := range state.PageSize + 1 {
		obstruct(fmt.Sprintf("dead/%05d.jpg", n))
	}
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 20*time.Hour })
	for _, fresh := range []string{"", "a/new.jpg", "dead/1.jpg", "z/new.jpg"} {
		if w.passDays(1); fresh != "" {
			obstruct(fresh)
			w.source.Delete("a.jpg")
		}
		w.syncs(removing)
		w.passDays(1)
		plan := w.syncs(removing)
		if fresh == "" {
			continue
		}
		if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonPossiblyMoved) {
			t.Errorf("beside %s, which is new: %s (%s)", fresh, i.Action, i.Reason)
		}
		w.source.Delete(sources.Key(fresh))
	}
	w.passDays(1)
	if i := w.item(w.syncs(removing), "a.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
		t.Errorf("beside what nobody could ever read: %s (%s)", i.Action, i.Reason)
	}
}

// TestSyncWaitsWhereNoRunKnows verifies that nothing is trashed if no stored run can show that an
// object was unreadable before the deletion.
func TestSyncWaitsWhereNoRunKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there")
	w.source.PutObject(sources.Object{Key: "lost+found/", Obstacle: sources.UnreadableDirectory}, nil)
	keeping := syncing(func(s *migrate.SyncRules) { s.Delete = "never" })
	w.syncs(keeping)
	w.passDays(1)
	w.source.Delete("a.jpg")
	w.syncs(keeping)
	w.passDays(1)
	w.syncs(keeping)
	_, err := w.store.Prune(t.Context(), time.Now().Add(time.Hour))
	must(t, err)
	w.passDays(1)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 20*time.Hour })
	if i := w.item(w.syncs(removing), "a.jpg"); i.Reason != string(migrate.ReasonPossiblyMoved) {
		t.Errorf("beside what no run tells of: %s (%s)", i.Action, i.Reason)
	}
	removing.Exclude = []string{"lost+found"}
	if i := w.item(w.syncs(removing), "a.jpg"); i.Action != state.Trash || i.State != state.ItemDone {
		t.Errorf("without it: %s (%s)", i.Action, i.Reason)
	}
}

// TestSyncWaitsForWhatIsArchived verifies that an archived object may be a deleted one, unless it
// has its own asset.
func TestSyncWaitsForWhatIsArchived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("old/a.jpg", "picture", "b.jpg", "PICTURE 2", "cold.jpg", "picture 2", "c.jpg", "to be there")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	id, cold := w.receipt("old/a.jpg").Asset, w.receipt("cold.jpg").Object
	w.source.Delete("old/a.jpg")
	w.source.Delete("b.jpg")
	cold.Obstacle = sources.Archived
	w.source.PutObject(cold, nil)
	w.source.PutObject(sources.Object{Key: "new/a.jpg", Size: int64(len("picture")), Obstacle: sources.Archived}, nil)
	for range 3 {
		w.syncs(removing)
	}
	if _, err := w.store.Receipt(t.Context(), w.pair.ID, "b.jpg"); err == nil {
		t.Error("b.jpg is still there: an archived object with an asset blocks what has its size")
	}
	w.put("new/a.jpg", "picture")
	if i := w.item(w.syncs(removing), "new/a.jpg"); i.Action != state.Move || i.Asset != id {
		t.Errorf("got %+v", i)
	}
}

// TestSyncOfAmbiguousKeys verifies that an object whose key several objects have now keeps its asset,
// and that it may be any deleted object, until one of them is left.
func TestSyncOfAmbiguousKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "old/b.jpg", "picture 2", "c.jpg", "to be there")
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	known, id := w.receipt("a.jpg").Object, w.receipt("a.jpg").Asset
	w.source.Delete("old/b.jpg")
	w.source.PutObject(sources.Object{Key: "a.jpg", Obstacle: sources.Ambiguous}, nil)
	w.source.PutObject(sources.Object{Key: "new/b.jpg", Obstacle: sources.Ambiguous}, nil)
	w.syncs(removing) // the deletion is seen first
	for range 2 {
		plan := w.syncs(removing)
		for key, want := range map[string]migrate.Reason{"a.jpg": migrate.ReasonAmbiguous, "new/b.jpg": migrate.ReasonAmbiguous, "old/b.jpg": migrate.ReasonPossiblyMoved} {
			if i := w.item(plan, key); i.Reason != string(want) || i.State == state.ItemDone {
				t.Errorf("%s: %s (%s), %s", key, i.Action, i.Reason, i.State)
			}
		}
	}
	w.source.PutObject(known, []byte("picture"))
	w.put("new/b.jpg", "picture 2")
	plan := w.syncs(removing)
	if i := w.item(plan, "new/b.jpg"); i.Action != state.Move || w.receipt("a.jpg").Asset != id {
		t.Errorf("got %s (%s), a.jpg has %s", i.Action, i.Reason, w.receipt("a.jpg").Asset)
	}
}

// unopened is a source that lists an object, and fails to open it while err is set.
type unopened struct {
	sources.Source
	key sources.Key
	err error
}

func (u *unopened) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Key == u.key && u.err != nil {
		return nil, &sources.Error{Op: "open", Source: "memory", Key: o.Key, Err: u.err}
	}
	return u.Source.Open(ctx, o, offset)
}

// TestSyncWaitsForContentsThatCannotBeRead verifies that a new object with unreadable content is
// not uploaded while it may be a deleted object: its asset is moved as soon as it is readable.
func TestSyncWaitsForContentsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		days int
	}{{fs.ErrPermission, 8}, {syscall.EIO, 1}, {syscall.EIO, 3}, {sources.ErrChanged, 3}} {
		w := newWorld(t)
		w.put("a.jpg", "picture", "c.jpg", "to be there")
		removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
		w.syncs(removing)
		id := w.receipt("a.jpg").Asset
		w.source.Delete("a.jpg")
		w.put("b.jpg", "picture")
		source := &unopened{w.source, "b.jpg", tc.err}
		d := w.deps()
		d.Source = source
		for range tc.days {
			w.wantStates(w.syncWith(d, removing), map[string]int64{"unchanged skipped": 1, "skip skipped": 1, "skip failed": 1})
		}
		source.err = nil
		if i := w.item(w.syncWith(d, removing), "b.jpg"); i.Action != state.Move || i.Asset != id {
			t.Errorf("%v: got %+v", tc.err, i)
		}
		w.close()
	}
}

// TestSyncOfARenamedObjectThatIsReadLate verifies that a single error during the comparison of
// contents does not create a new asset for a renamed object.
func TestSyncOfARenamedObjectThatIsReadLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there")
	w.syncs(syncing())
	id := w.receipt("a.jpg").Asset
	w.source.Delete("a.jpg")
	w.put("b.jpg", "picture")
	source := &faltering{Source: w.source}
	d := w.deps()
	d.Source = source
	plan := w.syncWith(d, syncing())
	if i := w.item(plan, "b.jpg"); i.State != state.ItemFailed || !strings.Contains(i.Error, "input/output error") || i.Class != string(retry.Transient) {
		t.Errorf("got %+v", i)
	}
	if i := w.item(w.syncWith(d, syncing()), "b.jpg"); i.Action != state.Move || i.Asset != id {
		t.Errorf("got %+v", i)
	}
}

// TestSyncEndsIfTheSourceFailsWhileContentsAreCompared verifies that an error of the source as a
// whole, during the comparison of contents, ends the plan.
func TestSyncEndsIfTheSourceFailsWhileContentsAreCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "c.jpg", "to be there")
	w.syncs(syncing())
	w.source.Delete("a.jpg")
	w.put("b.jpg", "picture")
	source := &unopened{w.source, "b.jpg", loggedOut{}}
	d := w.deps()
	d.Source = source
	if _, err := w.tryWith(t.Context(), d, syncing()); !errors.Is(err, loggedOut{}) {
		t.Errorf("it ended with %v", err)
	}
	source.err = nil
	w.wantStates(w.syncWith(d, syncing()), map[string]int64{"unchanged skipped": 1, "move done": 1})
}

// loggedOut is the error of a source that needs a new login.
type loggedOut struct{}

func (loggedOut) Error() string { return "log in again" }

func (loggedOut) Class() retry.Class { return retry.Fatal }

// faltering is a source that fails in the middle of its first content.
type faltering struct {
	sources.Source
	once sync.Once
}

func (f *faltering) Open(ctx context.Context, o sources.Object, offset int64) (r io.ReadCloser, err error) {
	r, err = f.Source.Open(ctx, o, offset)
	f.once.Do(func() { r = io.NopCloser(endsWith("", syscall.EIO)) })
	return r, err
}

// TestSyncWaitsForWhatIsRetriesExhausted verifies that an object whose retries are exhausted may be
// a deleted one, too.
func TestSyncWaitsForWhatIsRetriesExhausted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "picture", "b.jpg", "picture", "c.jpg", "to be there")
	source := &unopened{w.source, "b.jpg", fs.ErrPermission}
	d := w.deps()
	d.Source = source
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	for range 5 {
		w.syncWith(d, removing)
	}
	w.source.Delete("a.jpg")
	for range 3 {
		w.wantStates(w.syncWith(d, removing), map[string]int64{"unchanged skipped": 1, "skip skipped": 1, "create retries_exhausted": 1})
	}
	source.err = nil
	w.wantStates(w.syncWith(d, removing), map[string]int64{"unchanged skipped": 1, "move retries_exhausted": 1})
}

// TestSyncForgetsFailuresThatAreOver verifies that the failure of an object is removed once the
// object reverts to its uploaded content or is deleted.
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
	run, err := w.store.Unfinished(t.Context(), w.pair)
	if err == nil {
		must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), run))
		must(t, w.store.Relist(t.Context(), run.Num))
	}
	w.syncs(syncing())
	for f, err := range w.store.Failures(t.Context(), w.pair.ID, "") {
		must(t, err)
		t.Errorf("%s is said to fail (%s)", f.Key, f.Error)
	}
}
