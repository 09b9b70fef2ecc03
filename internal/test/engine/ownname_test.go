package engine

import (
	"testing"

	"assetferry/migrate"
	"assetferry/state"
)

// TestOurAssetHoldsTheName verifies that an asset of ours with the name and content of an object is
// adopted for it if its own object is deleted at the source, and no second asset is created. This
// covers a flipped bit in a stored key, and a new name that users cannot distinguish.
func TestOurAssetHoldsTheName(t *testing.T) {
	for name, tc := range map[string]struct {
		then    func(w *world)
		want    map[string]int64
		deleted int64
		have    []placed
	}{
		"its object is gone": {
			func(w *world) { w.source.Delete("A.jpg"); w.put("a.jpg", "content") },
			map[string]int64{"move done": 1}, 0, []placed{{"Images", "", "a.jpg", checksum("content")}},
		},
		"its content is other": {
			func(w *world) { w.source.Delete("A.jpg"); w.put("a.jpg", "another") },
			map[string]int64{"create done": 1}, 1,
			[]placed{{"Images", "", "A.jpg", checksum("content")}, {"Images", "", "a~" + checksum("a.jpg")[:6] + ".jpg", checksum("another")}},
		},
		"its object is there": {
			func(w *world) { w.put("a.jpg", "content") },
			map[string]int64{"unchanged skipped": 1, "create done": 1}, 0,
			[]placed{{"Images", "", "A.jpg", checksum("content")}, {"Images", "", "a~" + checksum("a.jpg")[:6] + ".jpg", checksum("content")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("A.jpg", "content")
			w.migrate(migrate.DefaultRules())
			tc.then(w)
			plan := w.migrate(migrate.DefaultRules())
			w.wantStates(plan, tc.want)
			w.wantAssets(tc.have)
			if plan.Deleted != tc.deleted {
				t.Errorf("tells that %d objects are gone, want %d", plan.Deleted, tc.deleted)
			}
		})
	}
}

// TestAdoptOnlyRenamesNothing verifies that a run that only adopts assets renames none of them.
func TestAdoptOnlyRenamesNothing(t *testing.T) {
	w := newWorld(t)
	w.put("A.jpg", "content")
	w.migrate(migrate.DefaultRules())
	w.source.Delete("A.jpg")
	w.put("a.jpg", "content")
	r := migrate.DefaultRules()
	r.AdoptOnly = true
	if sent := writes(w.during(func() { w.wantStates(w.migrate(r), map[string]int64{"skip skipped": 1}) })); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// TestOurAssetHoldsTheNameAndWasChanged verifies that an asset of ours that users deleted, renamed
// or edited is not adopted for another object: the object is uploaded, and the users' asset stays
// as it is.
func TestOurAssetHoldsTheNameAndWasChanged(t *testing.T) {
	suffixed := "a~" + checksum("a.jpg")[:6] + ".jpg"
	for what, tc := range map[string]struct {
		change func(w *world, asset string) error
		stays  []placed
	}{
		"deleted": {func(w *world, asset string) error { return w.other.Trash(w.Context(), asset) }, nil},
		"renamed": {func(w *world, asset string) error {
			_, err := w.other.Update(w.Context(), asset, changesOf("theirs"))
			return err
		}, []placed{{"Images", "", "theirs.jpg", checksum("content")}}},
		"edited": {func(w *world, asset string) error {
			_, err := w.other.Replace(w.Context(), asset, replacement("A.jpg", "content of theirs"))
			return err
		}, []placed{{"Images", "", "A.jpg", checksum("content of theirs")}}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.put("A.jpg", "content")
			w.migrate(migrate.DefaultRules())
			w.source.Delete("A.jpg")
			w.put("a.jpg", "content")
			must(t, tc.change(w, w.assetOf("A.jpg").ID))
			w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1})
			want := append(tc.stays, placed{"Images", "", suffixed, checksum("content")})
			sortPlaced(want)
			w.wantAssets(want)
		})
	}
}

// TestUndoOfAnAdoptedAsset verifies that undo reverts the adoption of our asset for another object,
// including the objects that share it.
func TestUndoOfAnAdoptedAsset(t *testing.T) {
	w := newWorld(t)
	r := migrate.DefaultRules()
	r.Duplicates = "one-asset"
	w.put("A.jpg", "content", "m.jpg", "content")
	w.migrate(r)
	evening := w.evening()
	w.source.Delete("A.jpg")
	w.put("a.jpg", "content", "z.jpg", "content")
	want := map[string]int64{"move done": 1, "adopt done": 1, "unchanged skipped": 1}
	plan := w.migrate(r)
	w.wantStates(plan, want)
	w.wantStates(w.undo(plan), map[string]int64{"move done": 1})
	w.wantEvening(evening, "undone")
	w.wantStates(w.migrate(r), want)
	w.wantSound()
}

// TestConflictKeepsTheName verifies that a name is not free while users hold the asset that was
// going to be renamed.
func TestConflictKeepsTheName(t *testing.T) {
	w := newWorld(t)
	w.put("Photo.jpg", "before")
	w.syncs(syncing())
	_, err := w.other.Replace(w.Context(), w.assetOf("Photo.jpg").ID, replacement("Photo.jpg", "content of theirs"))
	must(t, err)
	w.source.Delete("Photo.jpg")
	w.put("PHOTO.jpg", "one", "photo.jpg", "another")
	plan := w.syncs(syncing())
	if i := w.item(plan, "PHOTO.jpg"); i.State != state.ItemConflict {
		t.Errorf("got %+v", i)
	}
	w.wantAssets([]placed{{"Images", "", "Photo.jpg", checksum("content of theirs")}, {"Images", "", "photo~" + checksum("photo.jpg")[:6] + ".jpg", checksum("another")}})
	w.wantSound()
}
