package engine

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// syncsAll runs a complete sync that checks every asset.
func (w *world) syncsAll(r migrate.Rules) migrate.Plan {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	p := plan.New(w.deps(), r)
	p.SafetyChecks, p.DriftShare = wide(), 1
	plan, err := p.Plan(w.Context(), run)
	must(w, err)
	w.completes(plan)
	return plan
}

func (w *world) renamed(from, to string) {
	w.put(to, w.contentOf(from))
	w.source.Delete(sources.Key(from))
}

// TestNoMoveBetweenCategoriesThatShareNoExtension verifies that an asset is not moved between
// categories that share no extension: a category refuses an asset of another extension, and an
// asset gets no extension that its category refuses. Otherwise every run would try in vain.
func TestNoMoveBetweenCategoriesThatShareNoExtension(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.txt", "b")
	w.migrate(migrate.DefaultRules())
	w.renamed("a.jpg", "a.bin")
	w.wantDecisions(w.syncsAll(syncing()), map[string]string{
		"a.bin": decided(state.Create, migrate.ReasonCategoryFixed),
		"a.jpg": decided(state.Skip, migrate.ReasonDeletedAtSource),
	})
}

// TestDriftLeavesFormerKeysAlone verifies that the check for drift compares an asset under its
// present key only.
func TestDriftLeavesFormerKeysAlone(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	w.disturb(w.folder(w.images, "", "elsewhere"), map[string]string{"a.jpg": "edit"})
	w.renamed("a.jpg", "c.jpg")
	plan := w.syncsAll(syncing())
	w.wantDecisions(plan, map[string]string{"c.jpg": decided(state.Move, migrate.ReasonMoved) + " from a.jpg"})
	if plan.Run.Unchanged != 1 {
		t.Errorf("%d unchanged, want 1", plan.Run.Unchanged)
	}
}

// TestRepairOfWhatGotAnotherKey verifies that an asset that is created again is recorded under its
// new key only, and stays deleted after an undo.
func TestRepairOfWhatGotAnotherKey(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	w.trash("a.jpg")
	w.renamed("a.jpg", "c.jpg")
	before := w.receipt("a.jpg")
	plan := w.syncsAll(syncing(func(s *migrate.SyncRules) { s.Repair = true }))
	w.wantDecisions(plan, map[string]string{"c.jpg": decided(state.Create, migrate.ReasonAssetDeletedCreated) + " from a.jpg"})
	if _, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); err == nil {
		t.Error("its former key is still known")
	}
	w.undo(plan)
	if diff := gocmp.Diff(before.Asset, w.receipt("a.jpg").Asset); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
	w.wantDecisions(w.syncsAll(syncing()), map[string]string{"c.jpg": decided(state.Skip, migrate.ReasonAssetDeleted) + " from a.jpg"})
}

// TestUndoOfTrashWithProvenance verifies that undo also restores a trashed asset with a provenance
// mark.
func TestUndoOfTrashWithProvenance(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.Provenance = "always" })
	must(t, err)
	all := w.assetsAt()
	w.source.Delete("a.jpg")
	r := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	w.syncsAll(r)
	plan := w.syncsAll(r)
	w.wantDecisions(plan, map[string]string{"a.jpg": decided(state.Trash, migrate.ReasonGracePeriodOver)})
	w.undo(plan)
	if diff := gocmp.Diff(all, w.assetsAt()); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
}

// TestMoveOfWhatPeopleMovedIfTheSourceWins verifies that, with --on-destination-change overwrite,
// an asset is found wherever users have moved it.
func TestMoveOfWhatPeopleMovedIfTheSourceWins(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	w.disturb(w.folder(w.images, "", "elsewhere"), map[string]string{"a.jpg": "move"})
	w.renamed("a.jpg", "c.jpg")
	w.syncsAll(syncing(func(s *migrate.SyncRules) { s.OnDestinationChange = "overwrite" }))
	want := []placed{{"Images", "", "b.jpg", checksum("b")}, {"Images", "", "c.jpg", checksum("a")}}
	if diff := gocmp.Diff(want, w.assetsAt()); diff != "" {
		t.Errorf("at the destination (-want +got):\n%s", diff)
	}
}

// TestReplacedAssetIsPutBack verifies that an asset that users renamed or moved gets new content at
// its place, and that the next check for drift moves it to the right place, whether or not the
// answer to the upload was lost.
func TestReplacedAssetIsPutBack(t *testing.T) {
	wins := syncing(func(s *migrate.SyncRules) { s.OnDestinationChange = "overwrite" })
	for _, fault := range []string{"drop=after nth=9", "drop=after", "status=503 commit=after"} {
		t.Run(fault, func(t *testing.T) {
			w := newWorld(t, faults(t, "POST /assets/{id} "+fault))
			w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
			w.migrate(migrate.DefaultRules())
			w.disturb(w.folder(w.images, "", "elsewhere"), map[string]string{"a.jpg": "move", "b.jpg": "rename"})
			w.put("a.jpg", "A", "b.jpg", "B")
			for _, action := range []string{"replace done", "move done"} {
				w.wantStates(w.syncsAll(wins), map[string]int64{action: 2, "unchanged skipped": 1})
			}
			want := []placed{{"Images", "", "a.jpg", checksum("A")}, {"Images", "", "b.jpg", checksum("B")}, {"Images", "", "c.jpg", checksum("c")}}
			if diff := gocmp.Diff(want, w.assetsAt()); diff != "" {
				t.Errorf("at the destination (-want +got):\n%s", diff)
			}
			w.wantSound()
		})
	}
}
