package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// syncing returns the rules of a sync.
func syncing(changes ...func(*migrate.SyncRules)) migrate.Rules {
	r := migrate.DefaultRules()
	r.Sync = migrate.DefaultSyncRules()
	for _, c := range changes {
		c(r.Sync)
	}
	return r
}

// decideSync plans a sync, with limits that a small library does not reach.
func (w *world) decideSync(r migrate.Rules, changes ...func(*plan.Planner)) migrate.Plan {
	w.Helper()
	plan, err := w.tryDecideSync(r, changes...)
	must(w, err)
	return plan
}

func (w *world) tryDecideSync(r migrate.Rules, changes ...func(*plan.Planner)) (migrate.Plan, error) {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "plan", marshal(w, r))
	must(w, err)
	p := plan.New(w.deps(), r)
	p.SafetyChecks, p.DriftShare = wide(), 0
	for _, c := range changes {
		c(p)
	}
	return w.planWith(context.Background(), p, run)
}

// decisions returns the decisions of a plan by key.
func (w *world) decisions(plan migrate.Plan) map[string]string {
	w.Helper()
	all := map[string]string{}
	for i, err := range w.store.Items(w.Context(), plan.Run.Num) {
		must(w, err)
		text := fmt.Sprintf("%s (%s)", i.Action, i.Reason)
		if i.PreviousKey != "" {
			text += " from " + string(i.PreviousKey)
		}
		all[string(i.Key)] = text
	}
	return all
}

func decided(a state.Action, why migrate.Reason) string { return fmt.Sprintf("%s (%s)", a, why) }

func (w *world) wantDecisions(plan migrate.Plan, want map[string]string) {
	w.Helper()
	if diff := gocmp.Diff(want, w.decisions(plan)); diff != "" {
		w.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestSyncPlansChanges(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c", "d/e.jpg", "e", "d/f.jpg", "f", "gone.jpg", "gone")
	w.migrate(migrate.DefaultRules())
	w.put("a.jpg", "longer", "b.jpg", "B", "c.jpg", "c", "new.jpg", "new") // c has only a new time
	for _, key := range []sources.Key{"d/e.jpg", "d/f.jpg", "gone.jpg"} {
		w.source.Delete(key)
	}
	w.put("D/e.jpg", "e", "x/other.jpg", "f")
	sent := w.during(func() {
		plan := w.decideSync(syncing())
		w.wantDecisions(plan, map[string]string{
			"a.jpg":       decided(state.Replace, migrate.ReasonContentChanged),
			"b.jpg":       decided(state.Replace, migrate.ReasonContentChanged),
			"c.jpg":       decided(state.Unchanged, migrate.ReasonOnlyVersionChanged),
			"new.jpg":     decided(state.Create, migrate.ReasonNew),
			"gone.jpg":    decided(state.Skip, migrate.ReasonDeletedAtSource),
			"D/e.jpg":     decided(state.Move, migrate.ReasonMoved) + " from d/e.jpg",
			"x/other.jpg": decided(state.Move, migrate.ReasonMoved) + " from d/f.jpg",
		})
	})
	if w := writes(sent); len(w) > 0 {
		t.Errorf("a plan sent %v", w)
	}
}

// TestSyncPairsEqualObjects verifies that identical objects with new keys are matched by the ends
// of their keys.
func TestSyncPairsEqualObjects(t *testing.T) {
	w := newWorld(t)
	w.put("old/1/x.jpg", "same", "old/2/x.jpg", "same", "old/2/y.jpg", "same", "p.jpg", "twice", "q.jpg", "twice")
	w.migrate(migrate.DefaultRules())
	w.source.Replace(map[sources.Key][]byte{
		"new/1/x.jpg": []byte("same"), "new/2/x.jpg": []byte("same"), "new/2/z.jpg": []byte("same"),
		"r.jpg": []byte("twice"), "s.jpg": []byte("twice"),
	})
	w.wantDecisions(w.decideSync(syncing()), map[string]string{
		"new/1/x.jpg": decided(state.Move, migrate.ReasonMoved) + " from old/1/x.jpg",
		"new/2/x.jpg": decided(state.Move, migrate.ReasonMoved) + " from old/2/x.jpg",
		"new/2/z.jpg": decided(state.Move, migrate.ReasonMoved) + " from old/2/y.jpg",
		"r.jpg":       decided(state.Create, migrate.ReasonSeveralMoveCandidates),
		"s.jpg":       decided(state.Create, migrate.ReasonSeveralMoveCandidates),
		"p.jpg":       decided(state.Skip, migrate.ReasonDeletedAtSource),
		"q.jpg":       decided(state.Skip, migrate.ReasonDeletedAtSource),
	})
}

// TestSyncFollowsNamesInAnotherUnicodeForm verifies that a library copied between systems, with
// keys in another Unicode form, is matched by its names, which also distinguish identical objects.
func TestSyncFollowsNamesInAnotherUnicodeForm(t *testing.T) {
	w := newWorld(t)
	w.put("u\u0308ber/e\u0301.jpg", "same", "u\u0308ber/o\u0302.jpg", "same")
	w.migrate(migrate.DefaultRules())
	w.source.Replace(map[sources.Key][]byte{"\u00fcber/\u00e9.jpg": []byte("same"), "\u00fcber/\u00f4.jpg": []byte("same")})
	w.wantDecisions(w.decideSync(syncing()), map[string]string{
		"\u00fcber/\u00e9.jpg": decided(state.Move, migrate.ReasonMoved) + " from u\u0308ber/e\u0301.jpg",
		"\u00fcber/\u00f4.jpg": decided(state.Move, migrate.ReasonMoved) + " from u\u0308ber/o\u0302.jpg",
	})
}

// TestSyncMovesBesideItsNamesake verifies that a moved asset gets another name if its name is
// taken, as a created one does.
func TestSyncMovesBesideItsNamesake(t *testing.T) {
	w := newWorld(t)
	w.put("new/x.jpg", "there", "old/X.jpg", "moves")
	w.migrate(migrate.DefaultRules())
	w.source.Delete("old/X.jpg")
	w.put("new/X.jpg", "moves")
	plan := w.decideSync(syncing())
	i := w.item(plan, "new/X.jpg")
	if i.Action != state.Move || i.PreviousKey != "old/X.jpg" || !strings.HasPrefix(i.Name, "X~") {
		t.Errorf("got %+v", i)
	}
	conflict := syncing()
	conflict.OnCollision = "conflict"
	if i := w.item(w.decideSync(conflict), "new/X.jpg"); i.Action != state.Conflict {
		t.Errorf("got %+v", i)
	}
}

// TestSyncLooksAtAssetsFirst verifies that a sync checks for changes by users at the destination
// before it changes anything there.
func TestSyncLooksAtAssetsFirst(t *testing.T) {
	w := newWorld(t)
	keys := []string{"deleted", "edited", "moved", "renamed", "same"}
	for _, k := range keys {
		w.put(k+".jpg", k)
	}
	w.migrate(migrate.DefaultRules())
	other := w.folder(w.images, "", "elsewhere")
	w.disturb(other, map[string]string{"deleted.jpg": "trash", "edited.jpg": "edit", "moved.jpg": "move", "renamed.jpg": "rename"})
	for _, k := range keys {
		w.put(k+".jpg", k+" changed")
	}
	if i := w.item(w.decideSync(syncing()), "renamed.jpg"); !strings.Contains(i.Error, `"other name.jpg"`) {
		t.Errorf("nobody says what it is called now: %q", i.Error)
	}
	for _, tc := range []struct {
		rules migrate.Rules
		want  map[string]string
	}{
		{syncing(), map[string]string{
			"deleted.jpg": decided(state.Skip, migrate.ReasonAssetDeleted),
			"edited.jpg":  decided(state.Conflict, migrate.ReasonAssetEdited),
			"moved.jpg":   decided(state.Conflict, migrate.ReasonAssetMoved),
			"renamed.jpg": decided(state.Conflict, migrate.ReasonAssetMoved),
			"same.jpg":    decided(state.Replace, migrate.ReasonContentChanged),
		}},
		{syncing(func(s *migrate.SyncRules) { s.OnDestinationChange, s.Repair = "overwrite", true }), map[string]string{
			"deleted.jpg": decided(state.Create, migrate.ReasonAssetDeletedCreated) + " from deleted.jpg",
			"edited.jpg":  decided(state.Replace, migrate.ReasonContentChanged),
			"moved.jpg":   decided(state.Replace, migrate.ReasonContentChanged),
			"renamed.jpg": decided(state.Replace, migrate.ReasonContentChanged),
			"same.jpg":    decided(state.Replace, migrate.ReasonContentChanged),
		}},
	} {
		w.wantDecisions(w.decideSync(tc.rules), tc.want)
	}
}

// TestSyncFindsDrift verifies that each run checks a part of the unchanged assets for drift.
func TestSyncFindsDrift(t *testing.T) {
	w := newWorld(t)
	for n := range 12 {
		w.put(fmt.Sprintf("%02d.jpg", n), fmt.Sprint(n))
	}
	w.migrate(migrate.DefaultRules())
	w.disturb(w.folder(w.images, "", "elsewhere"), map[string]string{"03.jpg": "trash", "07.jpg": "move", "11.jpg": "edit"})
	third := func(p *plan.Planner) { p.DriftShare = 1.0 / 3 }
	planned := w.decideSync(syncing(), third)
	w.wantDecisions(planned, map[string]string{"03.jpg": decided(state.Skip, migrate.ReasonAssetDeleted)})
	if planned.Drift != "03.jpg" || planned.Run.Unchanged != 11 {
		t.Errorf("compared up to %q, %d unchanged", planned.Drift, planned.Run.Unchanged)
	}
	all := func(p *plan.Planner) { p.DriftShare = 1 }
	w.wantDecisions(w.decideSync(syncing(), all), map[string]string{
		"03.jpg": decided(state.Skip, migrate.ReasonAssetDeleted),
		"07.jpg": decided(state.Conflict, migrate.ReasonAssetMoved),
		"11.jpg": decided(state.Conflict, migrate.ReasonAssetEdited),
	})
	wins := syncing(func(s *migrate.SyncRules) { s.OnDestinationChange, s.Repair = "overwrite", true })
	w.wantDecisions(w.decideSync(wins), map[string]string{
		"03.jpg": decided(state.Create, migrate.ReasonAssetDeletedCreated) + " from 03.jpg",
		"07.jpg": decided(state.Move, migrate.ReasonAssetMovedReverted) + " from 07.jpg",
		"11.jpg": decided(state.Replace, migrate.ReasonAssetEditedReverted),
	})
}

// disturb changes assets in the category of images by name, as another user does.
func (w *world) disturb(folder string, what map[string]string) {
	w.Helper()
	for a, err := range w.other.List(w.Context(), listOf(w.images)) {
		must(w, err)
		switch what[a.Filename()] {
		case "trash":
			must(w, w.other.Trash(w.Context(), a.ID))
		case "move":
			must(w, w.other.Move(w.Context(), targetOf(folder), transferOf(a.ID)))
		case "rename":
			name := "other name"
			_, err := w.other.Update(w.Context(), a.ID, changesOf(name))
			must(w, err)
		case "edit":
			_, err := w.other.Replace(w.Context(), a.ID, replacement(a.Filename(), strings.Repeat("x", int(a.Size)+1)))
			must(w, err)
		}
	}
}

func TestSyncSafetyChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 100 {
		w.put(fmt.Sprintf("%03d.jpg", n), fmt.Sprintf("\xff\xd8\xff%d", n))
	}
	w.put("sentinel.txt", "here")
	w.migrate(migrate.DefaultRules())
	change := func(n int, begin string) {
		for n := range n {
			w.put(fmt.Sprintf("%03d.jpg", n), fmt.Sprintf("%s changed %d", begin, n))
		}
	}
	limits := func(g safety.SafetyChecks) func(*plan.Planner) { return func(p *plan.Planner) { p.SafetyChecks = g } }
	guarded := func(name string, want bool, p migrate.Plan) {
		t.Helper()
		if got := len(p.FailedChecks) > 0; got != want {
			t.Errorf("%s: guarded %v (%v), want %v", name, got, p.FailedChecks, want)
		}
	}
	change(30, "\xff\xd8\xff")
	for _, tc := range []struct {
		name    string
		n       int64
		percent float64
		accept  int64
		want    bool
	}{
		{"at the limit", 30, 100, 0, false}, {"one over", 29, 100, 0, true}, {"consent", 29, 100, 30, false}, {"too small a consent", 29, 100, 29, true},
		{"within the part", 100, 30, 0, false}, {"beyond the part", 100, 29.7, 0, true},
	} {
		g := wide()
		g.MaxChanges, g.MaxChangesPercent, g.AcceptChanges = tc.n, tc.percent, tc.accept
		guarded(tc.name, tc.want, w.decideSync(syncing(), limits(g)))
	}
	change(40, "encrypted")
	guarded("an encrypted disk", true, w.decideSync(syncing()))
	override := wide()
	override.AcceptChanges = 40
	guarded("one that somebody meant to encrypt", false, w.decideSync(syncing(), limits(override)))

	sentinel := wide()
	sentinel.Sentinel = "sentinel.txt"
	_, err := w.tryDecideSync(syncing(), limits(sentinel))
	must(t, err)
	w.source.Delete("sentinel.txt")
	if _, err := w.tryDecideSync(syncing(), limits(sentinel)); err == nil || !strings.Contains(err.Error(), "sentinel.txt") {
		t.Errorf("without the sentinel: %v", err)
	}
}

// TestSmallLibrariesMayTrashAFew verifies that in a small library a few assets may be trashed, but
// not most of them.
func TestSmallLibrariesMayTrashAFew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		objects, deleted int
		most             int64
		want             bool
	}{
		{2, 1, 500, true}, {3, 2, 500, false}, {9, 4, 500, true}, {9, 5, 500, false}, {10, 5, 500, true}, {10, 5, 4, false},
		{60, 5, 500, true}, {60, 6, 500, false},
	} {
		t.Run(fmt.Sprintf("%d of %d, at most %d", tc.deleted, tc.objects, tc.most), func(t *testing.T) {
			w := newWorld(t)
			w.putMany(tc.objects)
			removing := syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
			w.syncs(removing)
			for n := range tc.deleted {
				w.source.Delete(sources.Key(fmt.Sprintf("%03d.jpg", n)))
			}
			w.syncs(removing) // a run misses them for the first time
			g := safety.DefaultChecks()
			g.MaxDelete = tc.most
			plan := w.decideSync(removing, func(p *plan.Planner) { p.SafetyChecks = g })
			trashed := 0
			for _, tally := range plan.Tallies {
				if tally.Action == state.Trash {
					trashed += int(tally.Objects)
				}
			}
			if want := map[bool]int{true: tc.deleted}[tc.want]; trashed != want {
				t.Errorf("%d are trashed, want %d", trashed, want)
			}
		})
	}
}

// TestSyncGoesOnWithAcceptedRules verifies that changed rules need an override once, and not again
// when the run is resumed.
func TestSyncGoesOnWithAcceptedRules(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.completes(w.planSync(syncing()))
	other := syncing()
	other.Exclude = []string{"b.jpg"}
	run, err := w.store.Begin(t.Context(), w.pair, "sync", marshal(w, other))
	must(t, err)
	plan := func(accepted bool) migrate.Plan {
		p := plan.New(w.deps(), other)
		p.SafetyChecks.AcceptRules = accepted
		plan, err := p.Plan(t.Context(), run)
		must(t, err)
		return plan
	}
	if len(plan(false).FailedChecks) != 1 || len(plan(true).FailedChecks) != 0 {
		t.Error("other rules are guarded unless they are accepted: that does not hold")
	}
	must(t, w.store.SetRunState(t.Context(), run.Num, state.Planned, state.Applying))
	if guarded := plan(false).FailedChecks; len(guarded) > 0 {
		t.Errorf("a run that has begun is guarded: %v", guarded)
	}
}

// TestSyncStopsWithoutPassword verifies that a sync without the password of the last run needs an
// override once.
func TestSyncStopsWithoutPassword(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	signed := syncing()
	signed.Access = migrate.ByPassword
	public := syncing()
	public.Access = migrate.Public
	w.syncs(signed)
	failed := func(accepted bool) []*migrate.SafetyCheckError {
		return w.decideSync(public, func(p *plan.Planner) { p.SafetyChecks.AcceptRules = accepted }).FailedChecks
	}
	if all := failed(false); len(all) != 1 || !strings.Contains(all[0].What, migrate.CheckSignedOut) || len(migrate.AcceptancesFor(all[0].What, nil)) != 1 {
		t.Errorf("a sync without the password fails with %v", all)
	}
	if all := failed(true); len(all) != 0 {
		t.Errorf("an accepted sync fails with %v", all)
	}
	w.syncs(signed)
}
