package engine

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// policies runs a test with each way in which services treat a second asset of the same name.
func policies(t *testing.T, test func(w *world)) {
	for _, policy := range []string{"accept", "rename", "refuse"} {
		t.Run(policy, func(t *testing.T) {
			test(newWorld(t, func(o *sandbox.Options) { o.Profile.EqualAssets = policy }))
		})
	}
}

// TestMoveToANameOfOthers verifies that an object whose new name belongs to another user's asset is
// a conflict in each run until that asset is deleted. Its own asset stays in its place, and no name
// is used twice.
func TestMoveToANameOfOthers(t *testing.T) {
	t.Parallel()
	for _, moved := range []string{"dir/b.jpg", "new/b.jpg"} { // a folder with assets of ours, and one without
		t.Run(moved, func(t *testing.T) {
			policies(t, func(w *world) {
				removing := trashing()
				w.put("old/a.jpg", "a", "dir/z.jpg", "z", "c.jpg", "c")
				w.syncs(removing)
				r := w.receipt("old/a.jpg")
				w.source.Delete("old/a.jpg")
				w.source.Delete("c.jpg")
				folder := w.receipt("dir/z.jpg").Folder
				if moved != "dir/b.jpg" {
					folder = w.folder(w.images, "", "new")
				}
				theirs := w.upload(w.images, folder, "b.jpg", "theirs")
				w.put(moved, "a", "new/c.jpg", "c")
				w.wantStates(w.syncs(removing), map[string]int64{"conflict conflict": 1, "move done": 1, "unchanged skipped": 1})
				for range 6 { // more runs than it takes to exhaust retries
					plan := w.syncs(removing)
					w.wantStates(plan, map[string]int64{"conflict conflict": 1, "unchanged skipped": 2})
					if i := w.item(plan, moved); i.Reason != string(migrate.ReasonNameExists) {
						w.Errorf("got %+v", i)
					}
				}
				if got, err := w.other.Asset(w.Context(), r.Asset); err != nil || got.Filename() != "a.jpg" || got.FolderID != r.Folder {
					w.Errorf("its asset is %+v (%v)", got, err)
				}
				must(w, w.other.Trash(w.Context(), theirs.ID))
				w.wantStates(w.syncs(removing), map[string]int64{"move done": 1, "unchanged skipped": 2})
				if got := w.assetOf(moved); got.ID != r.Asset || got.Filename() != "b.jpg" {
					w.Errorf("its asset is %+v", got)
				}
				w.wantSound()
			})
		})
	}
}

// TestMoveToANameOfOthersAsDuplicate verifies that --on-existing create allows a second asset of
// the same name.
func TestMoveToANameOfOthersAsDuplicate(t *testing.T) {
	w := newWorld(t)
	rules := syncing()
	rules.OnExisting = "create"
	w.put("old/a.jpg", "a", "dir/z.jpg", "z")
	w.syncs(rules)
	w.upload(w.images, w.receipt("dir/z.jpg").Folder, "b.jpg", "theirs")
	w.source.Delete("old/a.jpg")
	w.put("dir/b.jpg", "a")
	w.wantStates(w.syncs(rules), map[string]int64{"move done": 1, "unchanged skipped": 1})
}

// TestMoveToANameOfOurs verifies that a name that one of our own assets has, in another case or
// Unicode form, does not count as another user's.
func TestMoveToANameOfOurs(t *testing.T) {
	t.Parallel()
	policies(t, func(w *world) {
		w.put("dir/c.JPG", "c", "dir/Re\u0301sume\u0301.jpg", "r", "z.jpg", "z")
		w.syncs(syncing())
		w.source.Delete("dir/c.JPG")
		w.source.Delete("dir/Re\u0301sume\u0301.jpg")
		w.put("dir/c.jpg", "c", "dir/R\u00e9sum\u00e9.jpg", "r")
		w.wantStates(w.syncs(syncing()), map[string]int64{"move done": 2, "unchanged skipped": 1})
	})
}

// TestNameOfOthersIsNotFree verifies that an asset does not get its object's name while another
// user's asset has it, gets it once that asset is deleted, and fails no run meanwhile.
func TestNameOfOthersIsNotFree(t *testing.T) {
	t.Parallel()
	policies(t, func(w *world) {
		removing := trashing()
		w.put("dir/Photo.jpg", "one", "dir/photo.jpg", "another", "z.jpg", "z")
		w.syncs(removing)
		before := w.receipt("dir/photo.jpg")
		w.source.Delete("dir/Photo.jpg")
		w.syncs(removing)
		w.wantStates(w.syncs(removing), map[string]int64{"trash done": 1, "unchanged skipped": 2})
		theirs := w.upload(w.images, before.Folder, "photo.jpg", "theirs")
		for range 6 {
			if sent := writes(w.during(func() { w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 2}) })); len(sent) > 0 {
				w.Errorf("sent %v", sent)
			}
		}
		if got := w.receipt("dir/photo.jpg"); got.Filename() != before.Filename() {
			w.Errorf("its asset is called %q, want %q", got.Filename(), before.Filename())
		}
		must(w, w.other.Trash(w.Context(), theirs.ID))
		w.wantStates(w.syncs(removing), map[string]int64{"move done": 1, "unchanged skipped": 1})
		if got := w.assetOf("dir/photo.jpg"); got.ID != before.Asset || got.Filename() != "photo.jpg" {
			w.Errorf("its asset is %+v", got)
		}
		w.wantSound()
	})
}

// TestMoveToANameThatIsTakenMeanwhile verifies that a run fails if a name is taken between plan and
// apply, and that the asset returns to its place. From the next run on the object is a conflict
// until the name is free.
func TestMoveToANameThatIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"rename", "refuse"} {
		for _, before := range []string{"old/a.jpg", "dir/a.jpg"} {
			t.Run(policy+" "+before, func(t *testing.T) {
				w := newWorld(t, func(o *sandbox.Options) { o.Profile.EqualAssets = policy })
				w.put(before, "a", "dir/z.jpg", "z")
				w.syncs(trashing())
				r := w.receipt(before)
				folder := w.receipt("dir/z.jpg").Folder
				w.source.Delete(sources.Key(before))
				w.put("dir/b.jpg", "a")
				var theirs assets.Asset
				taken := sync.OnceFunc(func() { theirs = w.upload(w.images, folder, "b.jpg", "theirs") })
				w.gate.on(func(_ int, r *http.Request) error {
					if r.Method == http.MethodPatch {
						taken()
					}
					return nil
				})
				w.wantStates(w.syncs(trashing()), map[string]int64{"move failed": 1, "unchanged skipped": 1})
				w.gate.on(nil)
				for range 6 {
					w.wantStates(w.syncs(trashing()), map[string]int64{"conflict conflict": 1, "unchanged skipped": 1})
				}
				if got, err := w.other.Asset(w.Context(), r.Asset); err != nil || got.Filename() != "a.jpg" || got.FolderID != r.Folder {
					t.Errorf("its asset is %+v (%v)", got, err)
				}
				must(t, w.other.Trash(t.Context(), theirs.ID))
				w.wantStates(w.syncs(trashing()), map[string]int64{"move done": 1, "unchanged skipped": 1})
				if got := w.assetOf("dir/b.jpg"); got.ID != r.Asset || got.Filename() != "b.jpg" || got.FolderID != folder {
					t.Errorf("its asset is %+v", got)
				}
				w.wantSound()
			})
		}
	}
}

// TestMoveWithoutAskingForNames verifies that assets are moved even if the service does not report
// which names are taken. An asset that is refused its name keeps its present one, and only one run
// fails because of it.
func TestMoveWithoutAskingForNames(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets/namesExist status=404"), func(o *sandbox.Options) { o.Profile.EqualAssets = "refuse" })
	w.put("old/a.jpg", "a", "old/c.jpg", "c", "dir/z.jpg", "z")
	w.syncs(syncing())
	w.upload(w.images, w.receipt("dir/z.jpg").Folder, "b.jpg", "theirs")
	w.source.Delete("old/a.jpg")
	w.source.Delete("old/c.jpg")
	w.put("dir/b.jpg", "a", "dir/d.jpg", "c")
	plan := w.syncs(syncing())
	w.wantStates(plan, map[string]int64{"move failed": 1, "move done": 1, "unchanged skipped": 1})
	if i := w.item(plan, "dir/b.jpg"); !strings.Contains(i.Error, `keeps the name "a.jpg"`) || !strings.Contains(i.Error, "409") {
		t.Errorf("it failed with %q", i.Error)
	}
	w.syncs(syncing())
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 3})
}

// TestMoveOfWhatIsThere verifies that an asset that already has its new place and name does not
// count as another user's.
func TestMoveOfWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.put("old/a.jpg", "a", "dir/z.jpg", "z")
	w.syncs(syncing())
	r := w.receipt("old/a.jpg")
	w.source.Delete("old/a.jpg")
	w.put("dir/b.jpg", "a")
	must(t, w.other.Move(t.Context(), targetOf(w.receipt("dir/z.jpg").Folder), assets.Transfer{AssetID: r.Asset}))
	name := "b"
	_, err := w.other.Update(t.Context(), r.Asset, assets.Changes{Name: &name})
	must(t, err)
	over := syncing(func(s *migrate.SyncRules) { s.OnDestinationChange = "overwrite" })
	plan := w.syncs(over)
	if i := w.item(plan, "dir/b.jpg"); i.Action != state.Move || i.State != state.ItemDone {
		t.Errorf("got %+v", i)
	}
}
