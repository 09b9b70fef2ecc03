package engine

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"assetferry/sources"

	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/state"
)

// joining returns rules under which duplicates share an asset.
func joining(changes ...func(*migrate.SyncRules)) migrate.Rules {
	r := syncing(changes...)
	r.Duplicates = "one-asset"
	return r
}

// leadTo returns the key of the owner of the asset that each key leads to.
func (w *world) leadTo(keys ...string) map[string]string {
	w.Helper()
	owners := map[string]string{}
	for _, key := range keys {
		a, err := w.store.AssetURLByKey(w.Context(), w.pair.ID, sources.Key(key))
		if errors.Is(err, state.ErrNotFound) {
			continue
		}
		must(w, err)
		owners[key] = string(a.Key)
	}
	return owners
}

func (w *world) wantLeadTo(want map[string]string) {
	w.Helper()
	if got := w.leadTo("a.jpg", "b.jpg", "c.jpg", "d.jpg", "dir/e.jpg"); !maps.Equal(got, want) {
		w.Errorf("keys lead to %v, want %v", got, want)
	}
}

// wantContents verifies how many assets at the destination have each content.
func (w *world) wantContents(want map[string]int) {
	w.Helper()
	got := map[string]int{}
	for _, a := range w.assetsAt() {
		got[a.Checksum]++
	}
	checksums := map[string]int{}
	for content, n := range want {
		checksums[checksum(content)] = n
	}
	if !maps.Equal(got, checksums) {
		w.Errorf("there are %v, want %v", got, checksums)
	}
}

// threeCopies returns a world whose source has three objects with identical content.
func threeCopies(t *testing.T) *world {
	w := newWorld(t)
	w.put("a.jpg", "same", "b.jpg", "else", "c.jpg", "same", "dir/e.jpg", "same")
	return w
}

func TestEqualObjectsShareAnAsset(t *testing.T) {
	w := threeCopies(t)
	w.put("a.png", "same", "empty1.jpg", "", "empty2.jpg", "")
	asked := w.during(func() {
		w.wantStates(w.syncs(joining()), map[string]int64{"create done": 5, "adopt done": 2})
	})
	if n := asked["POST /assets"]; n != 5 {
		t.Errorf("%d were sent, want 5: %v", n, asked)
	}
	w.wantContents(map[string]int{"same": 2, "else": 1, "": 2})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg", "dir/e.jpg": "a.jpg"})

	asked = w.during(func() { w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 7}) })
	if len(asked) > 0 {
		t.Errorf("a unchanged sync asked %v", asked)
	}
	w.put("d.jpg", "same") // shares the asset that exists
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 7, "adopt done": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg", "d.jpg": "a.jpg", "dir/e.jpg": "a.jpg"})
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 8}) // an alias stays an alias
	w.wantSound()
}

// TestAliasMetadataIsReported verifies that metadata of an alias, which has no asset of its own, is
// reported.
func TestAliasMetadataIsReported(t *testing.T) {
	w := threeCopies(t)
	w.put("c.jpg.json", saying("of c"))
	plan := w.syncWith(w.describing(says("dir/e.jpg", "of e")), joining())
	for key, reported := range map[string]bool{"a.jpg": false, "c.jpg": true, "dir/e.jpg": true} {
		if i := w.item(plan, key); i.State != state.ItemDone || strings.Contains(i.Error, "its asset has the metadata of a.jpg") != reported {
			t.Errorf("the item is %+v", i)
		}
	}
}

func TestWithoutTheRuleEachHasItsAsset(t *testing.T) {
	w := threeCopies(t)
	w.wantStates(w.syncs(syncing()), map[string]int64{"create done": 4})
	w.wantContents(map[string]int{"same": 3, "else": 1})
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 4}) // an object with an asset of its own keeps it
}

// TestAliasesPartFromAnOwnerThatChanges verifies that aliases get an asset of their own before
// their owner's asset changes its content.
func TestAliasesPartFromAnOwnerThatChanges(t *testing.T) {
	w := threeCopies(t)
	w.syncs(joining())
	w.put("a.jpg", "news")
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 1, "replace done": 1, "create done": 1, "adopt done": 1})
	w.wantContents(map[string]int{"same": 1, "else": 1, "news": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "c.jpg"})
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 4})
	w.wantSound()
}

// TestAliasAdoptsFromDeletedOwner verifies that an asset stays as long as one of its objects is at
// the source.
func TestAliasAdoptsFromDeletedOwner(t *testing.T) {
	w := threeCopies(t)
	removing := joining(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncs(removing)
	w.source.Delete("a.jpg")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 2, "move done": 1})
	for range 3 {
		w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 3})
	}
	w.wantContents(map[string]int{"same": 1, "else": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "c.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "c.jpg"})
	w.source.Delete("c.jpg")
	w.source.Delete("dir/e.jpg")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "skip skipped": 1})
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "trash done": 1})
	w.wantSound()
}

// TestSkippedAliasKeepsTheAsset verifies that the asset of an alias is not trashed if the run only
// skips the alias.
func TestSkippedAliasKeepsTheAsset(t *testing.T) {
	w := threeCopies(t)
	removing := joining(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	removing.Exclude = []string{"nothing"}
	w.syncs(removing)
	w.source.Delete("a.jpg")
	w.source.Delete("dir/e.jpg")
	removing.Exclude = []string{"c.jpg"}
	for range 3 {
		w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "skip skipped": 2})
	}
	w.wantContents(map[string]int{"same": 1, "else": 1})
}

func TestAliasThatChanges(t *testing.T) {
	w := threeCopies(t)
	w.syncs(joining())
	w.put("c.jpg", "same") // it has a new time, so its content is compared once
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 3, "adopt done": 1})
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 4})
	w.put("c.jpg", "mine")
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 3, "create done": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "a.jpg"})
	w.wantContents(map[string]int{"same": 1, "else": 1, "mine": 1})

	w.source.Delete("dir/e.jpg") // its old URL stays known
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 3})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "a.jpg"})
	w.put("dir/e.jpg", "same")
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 3, "adopt done": 1})
	w.wantSound()
}

func TestUndoOfAliases(t *testing.T) {
	w := threeCopies(t)
	first := w.syncs(joining())
	w.put("d.jpg", "same")
	second := w.syncs(joining())
	undo := w.undo(first)
	w.wantStates(undo, map[string]int64{"trash done": 1, "conflict conflict": 1}) // d.jpg needs the asset of a.jpg
	if got, want := w.item(undo, "a.jpg").Error, string(migrate.ReasonSharedByLaterRun)+": "+second.Run.ID; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	w.undo(second)
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg"})
	w.wantStates(w.undo(first), map[string]int64{"trash done": 1})
	w.wantContents(map[string]int{})
	w.wantLeadTo(map[string]string{})
	w.wantStates(w.syncs(joining()), map[string]int64{"create done": 2, "adopt done": 3})
	w.wantSound()
}

// TestAliasOfWhatDidNotArrive verifies that the aliases of an owner whose upload failed wait for
// the next run, which may make one of them the owner.
func TestAliasOfWhatDidNotArrive(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets status=400 once=1"))
	w.put("a.jpg", "same", "b.jpg", "same")
	plan := w.syncs(joining())
	w.wantStates(plan, map[string]int64{"create failed": 1, "adopt failed": 1})
	w.wantLeadTo(map[string]string{})
	want := "its content is identical to a.jpg, which was not uploaded as planned; the next run tries again"
	if got := w.item(plan, "b.jpg").Error; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	w.wantStates(w.syncs(joining()), map[string]int64{"create done": 1, "adopt done": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "a.jpg"})
	w.wantSound()
}

// TestAliasesSurviveABrokenStateDatabase verifies that, whatever call to the state database fails,
// the next run knows which objects share assets, and creates no duplicate.
func TestAliasesSurviveABrokenStateDatabase(t *testing.T) {
	t.Parallel()
	step := 7 * slowdown
	if sweepsAll() {
		step = 1
	}
	random := seedtest.Rand(t)
	for _, b := range blows() {
		if b.side != "state database" {
			continue
		}
		for n := 1 + random.IntN(step); strikesAliases(t, b, n); n += step {
		}
	}
}

// strikesAliases makes the call with a number fail, and reports whether there was such a call.
func strikesAliases(t *testing.T, b blow, call int) bool {
	t.Helper()
	w := threeCopies(t)
	defer w.close()
	w.put("b.jpg", "twin", "d.jpg", "twin")
	w.syncs(joining())
	w.put("a.jpg", "news", "f.jpg", "twin")
	w.source.Delete("b.jpg")
	at := inject.At(call)
	d := w.deps()
	b.strike(w, &d, at)
	_, err := w.tryWith(w.Context(), d, joining())
	w.unhook()
	if err != nil && !at.Came() {
		t.Errorf("%v %d: ended with %v", b, call, err)
	}
	for range 2 {
		w.syncs(joining())
	}
	w.wantContents(map[string]int{"same": 1, "news": 1, "twin": 1})
	owners := w.leadTo("a.jpg", "b.jpg", "c.jpg", "d.jpg", "dir/e.jpg", "f.jpg")
	if owners["c.jpg"] != "c.jpg" || owners["dir/e.jpg"] != "c.jpg" || owners["a.jpg"] != "a.jpg" || owners["d.jpg"] != owners["b.jpg"] || owners["f.jpg"] != owners["b.jpg"] {
		t.Errorf("%v %d: keys lead to %v", b, call, owners)
	}
	w.wantSound()
	return at.Came()
}

// TestAliasesAreReadAgain verifies that a run with --checksum also reads aliases, whether or not
// objects may share assets by now. Unchanged aliases stay aliases; the others get an asset of their
// own.
func TestAliasesAreReadAgain(t *testing.T) {
	t.Parallel()
	for _, duplicates := range []string{"keep", "one-asset"} {
		t.Run(duplicates, func(t *testing.T) {
			w := threeCopies(t)
			w.syncs(joining())
			w.sameTime("c.jpg", "mine")
			checking := syncing(func(s *migrate.SyncRules) { s.Checksum = true })
			checking.Duplicates = duplicates
			w.wantStates(w.syncs(checking), map[string]int64{"unchanged skipped": 2, "create done": 1, "adopt done": 1})
			w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "a.jpg"})
			w.wantContents(map[string]int{"same": 1, "else": 1, "mine": 1})
			w.put("f.jpg", "same") // has nothing to share if duplicates are kept
			w.syncs(checking)
			w.wantContents(map[string]int{"same": map[string]int{"keep": 2, "one-asset": 1}[duplicates], "else": 1, "mine": 1})
			w.wantSound()
		})
	}
}
