package engine

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/migrate/undo"
	"assetferry/sources"
	"assetferry/state"
)

// An exhibit is an asset with all properties that users see and can change.
type exhibit struct {
	ID, Category, Folder, Name, Content, Description string
	Tags                                             []string
	Attributes                                       map[string]any
}

// exhibits returns all assets, sorted.
func (w *world) exhibits() (all []exhibit) {
	w.Helper()
	add := func(o assets.ListOptions) {
		for a, err := range w.other.List(w.Context(), o) {
			must(w, err)
			tags := slices.Sorted(slices.Values(a.Tags))
			all = append(all, exhibit{a.ID, a.CategoryID, a.FolderID, a.Filename(), w.content(a), a.Metadata.Description, tags, a.Metadata.CustomAttributes})
		}
	}
	for c, err := range w.other.Categories(w.Context()) {
		must(w, err)
		add(assets.ListOptions{CategoryID: c.ID})
	}
	top, err := w.other.Folders(w.Context())
	must(w, err)
	var walk func(assets.Folder)
	walk = func(f assets.Folder) {
		add(assets.ListOptions{FolderID: f.ID})
		deeper, err := w.other.Folder(w.Context(), f.ID, 1)
		must(w, err)
		for _, sub := range deeper.Folders {
			walk(sub)
		}
	}
	for _, f := range top {
		walk(f)
	}
	slices.SortFunc(all, func(a, b exhibit) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// remembered returns the records of the pair in the state database, without the modification times
// of assets, which an undo changes, too.
func (w *world) remembered() (all []string) {
	w.Helper()
	for r, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		r.Modified = time.Time{}
		images, err := w.store.DescribedAs(w.Context(), w.pair.ID, r.Key)
		must(w, err)
		kept, err := w.store.Description(w.Context(), w.pair.ID, r.Key)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			must(w, err)
		}
		all = append(all, fmt.Sprintf("%+v %s %+v", r, images, kept))
	}
	sum, err := w.store.SumReceipts(w.Context(), w.pair.ID)
	must(w, err)
	return append(all, fmt.Sprint(sum))
}

// An evening is the destination and the state database before a run.
type evening struct {
	Assets        []exhibit
	StateDatabase []string
}

func (w *world) evening() evening { return evening{w.exhibits(), w.remembered()} }

func (w *world) wantEvening(want evening, what string) {
	w.Helper()
	if diff := gocmp.Diff(want, w.evening()); diff != "" {
		w.Errorf("%s (-evening before +now):\n%s", what, diff)
	}
}

// A deed is an item of a sync with a function that applies it.
type deed struct {
	item state.Item
	do   func() state.Outcome
}

// does runs some deeds as a sync.
func (w *world) does(deeds ...deed) migrate.Plan {
	w.Helper()
	ctx := w.Context()
	rules, err := json.Marshal(syncRules("keep"))
	must(w, err)
	run, err := w.store.Begin(ctx, w.pair, "sync", rules)
	must(w, err)
	var page state.Page
	var items []state.Item
	var former []state.Former
	for _, d := range deeds {
		i := d.item
		i.Reason, i.State = "because", state.ItemPlanned
		items = append(items, i)
		page.Items = append(page.Items, state.Item{Object: sources.Object{Key: i.Key, Size: i.Size}})
		if i.Asset == "" {
			continue
		}
		a, err := w.other.Asset(ctx, i.Asset)
		must(w, err)
		asset, err := json.Marshal(collect.FormerOf(a))
		must(w, err)
		of := i.Key
		if i.PreviousKey != "" {
			of = i.PreviousKey
		}
		former = append(former, state.Former{Key: i.Key, Of: of, Asset: asset})
	}
	page.Done = true
	must(w, w.store.Stage(ctx, run.Num, page))
	must(w, w.store.Decided(ctx, run.Num, items))
	must(w, w.store.SaveFormer(ctx, run.Num, w.pair.ID, former))
	must(w, w.store.FinishPlan(ctx, run.Num, "hash", json.RawMessage("[]")))
	must(w, w.store.SetRunState(ctx, run.Num, state.Planned, state.Applying))
	_, err = w.store.Take(ctx, run.Num, state.Next{N: len(items), Time: time.Now()})
	must(w, err)
	var outcomes []state.Outcome
	for _, d := range deeds {
		outcomes = append(outcomes, d.do())
	}
	must(w, w.store.Record(ctx, run.Num, w.pair.ID, outcomes))
	must(w, w.store.FinishSync(ctx, run, state.Ending{}))
	run, err = w.store.Run(ctx, run.ID)
	must(w, err)
	return migrate.Plan{Run: run}
}

// existing returns an item for the asset of an object.
func (w *world) existing(action state.Action, key string) state.Item {
	r := w.receipt(key)
	return state.Item{Object: sources.Object{Key: sources.Key(key), Size: r.Size}, Action: action, Category: r.Category, Name: r.Filename(), Asset: r.Asset}
}

// as returns a receipt with the present properties of an asset.
func (w *world) as(r state.Receipt, a assets.Asset) *state.Receipt {
	sum := sha256.Sum256([]byte(w.content(a)))
	r.Checksum, r.Size, r.Name, r.Extension, r.Category, r.Folder = sum[:], a.Size, a.Name, a.Extension, a.CategoryID, a.FolderID
	r.Asset, r.URL, r.Modified = a.ID, a.URL, a.LastModifiedAt
	return &r
}

func (w *world) replaces(key, content string) deed {
	return deed{w.existing(state.Replace, key), func() state.Outcome {
		r := w.receipt(key)
		w.replace(key, content)
		return state.Outcome{Key: sources.Key(key), State: state.ItemDone, Receipt: w.as(r, w.assetOf(key)), InsteadOf: sources.Key(key)}
	}}
}

func (w *world) moves(from, to, folder string) deed {
	i := w.existing(state.Move, from)
	i.Key, i.PreviousKey = sources.Key(to), sources.Key(from)
	return deed{i, func() state.Outcome {
		r := w.receipt(from)
		r.Key = sources.Key(to)
		a := w.assetOf(from)
		must(w, w.other.Move(w.Context(), assets.Target{FolderID: folder}, assets.Transfer{AssetID: a.ID}))
		name := strings.TrimSuffix(to[strings.LastIndex(to, "/")+1:], ".jpg")
		_, err := w.other.Update(w.Context(), a.ID, assets.Changes{Name: &name})
		must(w, err)
		return state.Outcome{Key: sources.Key(to), State: state.ItemDone, Receipt: w.as(r, w.assetOf(from)), InsteadOf: sources.Key(from)}
	}}
}

func (w *world) trashes(key string) deed {
	return deed{w.existing(state.Trash, key), func() state.Outcome {
		w.trash(key)
		return state.Outcome{Key: sources.Key(key), State: state.ItemDone, Undone: true}
	}}
}

func (w *world) creates(key, content string) deed {
	return deed{state.Item{Object: sources.Object{Key: sources.Key(key), Size: int64(len(content))}, Action: state.Create, Category: w.images, Name: key}, func() state.Outcome {
		a := w.upload(w.images, "", key, content)
		return state.Outcome{Key: sources.Key(key), State: state.ItemDone, Receipt: w.as(state.Receipt{Object: sources.Object{Key: sources.Key(key)}, Slot: 7}, a)}
	}}
}

// describes returns a deed that updates the metadata of an object's asset.
func (w *world) describes(key string) deed {
	return deed{w.existing(state.UpdateMetadata, key), func() state.Outcome {
		a := w.assetOf(key)
		said := `{"description":"what the source says","tags":["new"],"attributes":{"by":"the source"}}`
		a = w.edits(a, "what the source says", append(a.Tags, "new"), map[string]any{"by": "the source", "rights": a.Metadata.CustomAttributes["rights"]})
		return state.Outcome{Key: sources.Key(key), State: state.ItemDone, Described: said, Modified: a.LastModifiedAt}
	}}
}

func (w *world) edits(a assets.Asset, description string, tags []string, attributes map[string]any) assets.Asset {
	a, err := w.other.Update(w.Context(), a.ID, assets.Changes{Description: &description, Tags: &tags, CustomAttributes: attributes})
	must(w, err)
	return a
}

// library runs a first migration, and adds metadata as users do.
func (w *world) library() {
	w.Helper()
	w.put("stays.jpg", "stays", "dir/moved.jpg", "moved", "dir/renamed.jpg", "renamed", "replaced.jpg", "before", "same.txt", "before",
		"described.jpg", "described", "trashed.jpg", "trashed", "dir/gone.txt", "gone")
	w.migrate(migrate.DefaultRules())
	w.edits(w.assetOf("described.jpg"), "what people say", []string{"old"}, map[string]any{"rights": "ours"})
	w.edits(w.assetOf("replaced.jpg"), "", []string{"people's"}, map[string]any{})
}

// day runs a sync with a deed of every kind.
func (w *world) day() migrate.Plan {
	w.Helper()
	return w.does(
		w.creates("created.jpg", "created"),
		w.trashes("dir/gone.txt"),
		w.describes("described.jpg"),
		w.moves("dir/moved.jpg", "elsewhere/moved.jpg", w.folder(w.images, "", "elsewhere")),
		w.moves("dir/renamed.jpg", "elsewhere/by another name.jpg", w.folder(w.images, "", "elsewhere")),
		w.replaces("replaced.jpg", "after it has changed"),
		w.replaces("same.txt", "AFTER!"),
		w.trashes("trashed.jpg"),
	)
}

// TestUndoOfSync verifies that, after the undo of a sync with every kind of action, the destination
// and the state database are as before, and nothing is left to undo.
func TestUndoOfSync(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprintf("content %v", content), func(t *testing.T) {
			w := newWorld(t)
			w.library()
			before := w.evening()
			run := w.day()
			asked := w.during(func() {
				undo, err := w.undoRun(t.Context(), w.deps(), run.Run.ID, content)
				must(t, err)
				want := map[string]int64{"trash done": 1, "create done": 2, "move done": 2, "replace done": 2, "update_metadata done": 1}
				if got, _ := w.states(undo); !gocmp.Equal(want, got) {
					t.Errorf("the undo came to %v", got)
				}
			})
			if asked["POST /assets/trash"] != 1 || asked["POST /assets/restore"] != 1 || asked["POST /assets/move"] != 1 || asked["PATCH /assets/{id}"] != 2 {
				t.Errorf("asked for %v", asked)
			}
			w.wantEvening(before, "after the undo")
			w.wantSound()
			w.verifies()
			if left, err := w.store.IsUndoable(t.Context(), run.Run); err != nil || left {
				t.Errorf("left to undo: %t (%v)", left, err)
			}
		})
	}
}

// TestUndoOfTwoRuns verifies that two runs can be undone, the later one first.
func TestUndoOfTwoRuns(t *testing.T) {
	now := &clock{}
	w := newWorld(t, now.of)
	w.library()
	before := w.evening()
	first := w.day()
	now.passes(10 * time.Minute)
	second := w.does(w.replaces("replaced.jpg", "once more"), w.trashes("elsewhere/moved.jpg"), w.describes("described.jpg"),
		w.moves("created.jpg", "dir/created.jpg", w.folder(w.images, "", "elsewhere")), w.creates("trashed.jpg", "again"))

	undo, err := w.undoRun(t.Context(), w.deps(), first.Run.ID, false)
	must(t, err)
	for _, key := range []string{"replaced.jpg", "elsewhere/moved.jpg", "described.jpg", "created.jpg", "trashed.jpg"} {
		want := string(migrate.ReasonChangedByLaterRun) + ": " + second.Run.ID
		if i := w.item(undo, key); i.State != state.ItemConflict || i.Error != want {
			t.Errorf("%s: %s %s", key, i.State, i.Error)
		}
	}
	now.passes(10 * time.Minute)
	w.undo(second)
	now.passes(10 * time.Minute)
	w.undo(first)
	w.wantEvening(before, "after both")
}

// TestUndoOfSyncLeavesWhatWasChanged verifies that undo keeps what users did since: assets that
// they moved or whose content they changed, and metadata fields that they wrote.
func TestUndoOfSyncLeavesWhatWasChanged(t *testing.T) {
	now := &clock{}
	w := newWorld(t, now.of)
	w.library()
	day := w.day()
	now.passes(20 * time.Minute)
	byHand := "by hand"
	_, err := w.other.Update(t.Context(), w.assetOf("elsewhere/by another name.jpg").ID, assets.Changes{Name: &byHand})
	must(t, err)
	w.replace("same.txt", "EDITED")
	w.edits(w.assetOf("described.jpg"), "what people say now", []string{"new", "old"}, map[string]any{"by": "the source", "rights": "ours"})
	w.edits(w.assetOf("replaced.jpg"), "described since", []string{"people's"}, map[string]any{})
	for _, a := range []string{"trashed.jpg", "dir/gone.txt"} {
		if a == "trashed.jpg" { // it is not in the trash any more
			must(t, w.other.Delete(t.Context(), w.item(day, a).Asset))
		}
	}
	w.trash("elsewhere/moved.jpg")

	undo := w.undoAt(now, day)
	got := map[string]string{}
	for i, err := range w.store.Items(t.Context(), undo.Run.Num) {
		must(t, err)
		got[string(i.Key)] = fmt.Sprintf("%s %s: %s", i.Action, i.State, i.Error)
	}
	want := map[string]string{
		"created.jpg":                   "trash done: ",
		"described.jpg":                 "update_metadata done: edits at the destination are kept: description",
		"dir/gone.txt":                  "create done: ",
		"elsewhere/by another name.jpg": "conflict conflict: the asset changed after its upload: name",
		"elsewhere/moved.jpg":           "skip skipped: ",
		"replaced.jpg":                  "replace done: edits at the destination are kept: description",
		"same.txt":                      "conflict conflict: the asset changed after its upload: content",
		"trashed.jpg":                   "create failed: it is not in the trash of the service any more, so it cannot be restored",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a := w.assetOf("described.jpg")
	if a.Metadata.Description != "what people say now" || !slices.Equal(a.Tags, []string{"old"}) || a.Metadata.CustomAttributes["by"] != nil {
		t.Errorf("described: %+v", a)
	}
	if a := w.assetOf("replaced.jpg"); w.content(a) != "before" || a.Metadata.Description != "described since" {
		t.Errorf("replaced: %+v", a)
	}
	if r := w.receipt("dir/moved.jpg"); r.Run == day.Run.Num {
		t.Errorf("what is gone is remembered as %+v", r)
	}
}

// TestUndoOfSyncThatCannotBeRestored verifies that an asset stays as it is if its former folder or
// content was deleted.
func TestUndoOfSyncThatCannotBeRestored(t *testing.T) {
	w := newWorld(t)
	w.library()
	day := w.day()
	revisions, err := w.other.Revisions(t.Context(), w.assetOf("replaced.jpg").ID)
	must(t, err)
	for _, r := range revisions {
		if !r.Current {
			must(t, w.other.DeleteRevision(t.Context(), w.assetOf("replaced.jpg").ID, r.ID))
		}
	}
	folders, err := w.other.Folders(t.Context())
	must(t, err)
	for _, f := range folders {
		if f.Name == "dir" {
			w.delete("/folders/" + f.ID)
		}
	}
	undo := w.undo(day)
	for key, why := range map[string]migrate.Reason{"replaced.jpg": migrate.ReasonRevisionMissing, "dir/gone.txt": migrate.ReasonFolderMissing,
		"elsewhere/moved.jpg": migrate.ReasonFolderMissing} {
		if i := w.item(undo, key); i.State != state.ItemConflict || i.Reason != string(why) {
			t.Errorf("%s: %s %s %s", key, i.State, i.Reason, i.Error)
		}
	}
}

// TestSweepOfUndoOfSync makes a call fail while a sync is undone, alone or with all later ones, and
// repeats the undo without faults. It verifies that everything is as before the sync.
func TestSweepOfUndoOfSync(t *testing.T) {
	random := seedtest.Rand(t)
	step := 9 * slowdown
	if sweepsAll() {
		step = 1
	}
	for _, b := range blows() {
		if b.side == "source" { // undo does not read the source
			continue
		}
		first, lasts := random.IntN(step), random.IntN(3) == 0
		t.Run(fmt.Sprintf("%v%s", b, lasting(lasts)), func(t *testing.T) {
			t.Parallel()
			n := first
			for survivesUndoOfSync(t, hit{b, n, lasts}) {
				n += step
			}
			t.Logf("%d undos, with faults at calls %d to %d", (n-first)/step, first, n-1)
		})
	}
}

func survivesUndoOfSync(t *testing.T, h hit) bool {
	t.Helper()
	w := newWorld(t)
	defer w.close()
	w.library()
	before := w.evening()
	day := w.day()

	transport, d, at := w.gate.next, w.deps(), h.moment()
	h.strike(w, &d, at)
	impatient := func(u *undo.Undoer) { u.RetryPauses, u.Wait = []time.Duration{short}, 3*short }
	_, err := w.undoRun(t.Context(), d, day.Run.ID, true, impatient)
	w.gate.next = transport
	w.unhook()
	switch {
	case at.Came() && h.deadly && !errors.Is(err, inject.Err):
		t.Errorf("%v: the undo ended with %v, want the fault", h, err)
	case !at.Came():
		must(t, err)
	}
	undo, again := w.undoRun(t.Context(), w.deps(), day.Run.ID, true, impatient)
	if again != nil {
		t.Fatalf("%v, after an undo that ended with %v: the next one with %v", h, err, again)
	}
	w.wantSound()
	if diff := gocmp.Diff(before, w.evening()); diff != "" {
		got, _ := w.states(undo)
		t.Errorf("%v, after an undo that ended with %v and one that came to %v (-evening before +now):\n%s", h, err, got, diff)
	}
	return at.Came()
}

// TestUndoOfRealRun verifies that, after the undo of a complete sync, everything is as before, and
// that the next sync does the same again.
func TestUndoOfRealRun(t *testing.T) {
	t.Parallel()
	for _, provenance := range []string{"never", "always"} {
		t.Run("provenance "+provenance, func(t *testing.T) {
			now := &clock{}
			w := newWorld(t, now.of)
			r, s := syncRules("keep"), says()
			r.Sync.Delete, r.Sync.GracePeriod = "trash", 0
			with := func(a *apply.Applier) { a.Provenance, a.Now = provenance, now.now }
			next := func() migrate.Plan {
				now.passes(5 * time.Minute)
				return w.sync(s, r, with)
			}
			w.put("stays.jpg", "stays", "dir/moved.jpg", "moved", "dir/renamed.jpg", "renamed", "replaced.jpg", "before", "same.txt", "before",
				"described.jpg", "described", "trashed.jpg", "trashed", "dir/gone.txt", "gone")
			s.of["described.jpg"] = metadata.Metadata{Description: "A quay", Tags: []string{"quay"}, Attributes: map[string]string{"place": "Oslo"}}
			s.of["dir/moved.jpg"] = metadata.Metadata{Description: "It moves"}
			next()
			w.edit("described.jpg", assets.Changes{Tags: &[]string{"quay", "people's"}})
			w.source.Delete("trashed.jpg")
			w.source.Delete("dir/gone.txt")
			next()
			before := w.evening()

			w.source.Delete("dir/moved.jpg")
			w.source.Delete("dir/renamed.jpg")
			w.put("elsewhere/moved.jpg", "moved", "elsewhere/by another name.jpg", "renamed", "created.jpg", "created",
				"replaced.jpg", "after it has changed", "same.txt", "AFTER!")
			s.of["elsewhere/moved.jpg"] = s.of["dir/moved.jpg"]
			s.of["described.jpg"] = metadata.Metadata{Description: "A pier", Tags: []string{"pier"}, Attributes: map[string]string{"place": "Bergen", "year": "1905"}}
			day := next()
			did, _ := w.states(day)
			for what, n := range map[string]int64{"create done": 1, "move done": 2, "replace done": 2, "update_metadata done": 1, "trash done": 2} {
				if did[what] != n {
					t.Fatalf("the night came to %v", did)
				}
			}
			now.passes(5 * time.Minute)
			undo := w.undoAt(now, day)
			if got, _ := w.states(undo); !gocmp.Equal(got, map[string]int64{"trash done": 1, "move done": 2, "replace done": 2, "update_metadata done": 1, "create done": 2}) {
				for i := range w.store.Items(t.Context(), undo.Run.Num) {
					t.Logf("%s %s %s: %s", i.Key, i.Action, i.State, i.Error)
				}
				t.Errorf("the undo came to %v", got)
			}
			w.wantEvening(before, "after the undo")
			w.verifies()
			if again, _ := w.states(next()); !gocmp.Equal(did, again) {
				t.Errorf("the next run came to %v, want %v", again, did)
			}
		})
	}
}

// TestUndoOfNewAssetsInstead verifies that an object has its former asset again after the undo of a
// sync that created a new asset because the service does not replace content.
func TestUndoOfNewAssetsInstead(t *testing.T) {
	t.Parallel()
	for _, deletes := range []string{"never", "trash"} {
		w := newWorld(t, func(o *sandbox.Options) { o.Profile = profile.Profile{Version: 1, Lacks: []string{"replace"}} })
		r := syncRules("keep")
		r.Sync.Delete, r.Sync.OnReplaceRefused = deletes, "new-asset"
		w.put("stays.jpg", "stays", "dir/a.jpg", "a", "b.jpg", "b")
		w.sync(says(), r)
		before := w.evening()
		w.put("dir/a.jpg", "other", "b.jpg", "B")
		day := w.sync(says(), r)
		if got, _ := w.states(day); got["replace done"] != 2 {
			t.Fatalf("the night came to %v", got)
		}
		w.undo(day)
		w.wantEvening(before, "with --delete "+deletes)
		w.verifies()
		w.close()
	}
}

// TestUndoForgetsThatSomethingWasMissed verifies that an object that reappeared in an undone run
// does not count as missing since before: it is not trashed as soon as one listing misses it.
func TestUndoForgetsThatSomethingWasMissed(t *testing.T) {
	w := newWorld(t)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.put("a.txt", "a", "stays.txt", "s")
	w.syncs(removing)
	w.source.Delete("a.txt")
	w.syncs(removing)
	w.put("a.txt", "changed")
	w.undo(w.syncs(removing))
	w.source.Delete("a.txt")
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "skip skipped": 1})
	w.wantStates(w.syncs(removing), map[string]int64{"unchanged skipped": 1, "trash done": 1})
	w.wantSound()
}

// TestUndoOfAMoveWhoseAssetIsDeleted verifies that a deleted asset is not restored under a name
// that another object has by now: the record of that object stays, and the undo completes.
func TestUndoOfAMoveWhoseAssetIsDeleted(t *testing.T) {
	w := newWorld(t)
	removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.put("a.jpg", "moved", "b.jpg", "too", "stays.txt", "s")
	w.syncs(removing)
	for _, key := range []string{"a.jpg", "b.jpg"} {
		w.source.Delete(sources.Key(key))
	}
	w.put("dir/a.jpg", "moved", "dir/b.jpg", "too")
	day := w.syncs(removing)
	w.wantStates(day, map[string]int64{"move done": 2, "unchanged skipped": 1})
	w.put("a.jpg", "another")
	w.syncs(removing)
	w.trash("dir/a.jpg")
	w.trash("dir/b.jpg")
	undo := w.undo(day)
	w.wantStates(undo, map[string]int64{"skip skipped": 2})
	if r := w.receipt("a.jpg"); r.Run == day.Run.Num || r.Size != int64(len("another")) {
		t.Errorf("a.jpg has the receipt %+v", r)
	}
	if r := w.receipt("b.jpg"); r.Size != int64(len("too")) { // as before the run; its asset is deleted
		t.Errorf("b.jpg has the receipt %+v", r)
	}
	for _, key := range []sources.Key{"dir/a.jpg", "dir/b.jpg"} {
		if r, err := w.store.Receipt(t.Context(), w.pair.ID, key); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("%s has the receipt %+v (%v)", key, r, err)
		}
	}
}
