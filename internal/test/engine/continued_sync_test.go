package engine

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// breaksOff syncs until the nth upload is about to begin, and returns the run. The run is listed
// again, as the command does before it resumes.
func (w *world) breaksOff(d migrate.Deps, r migrate.Rules, nth int) state.Run {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method != http.MethodPost || r.URL.Path != "/assets" {
			return nil
		}
		if nth--; nth <= 0 {
			cancel()
			return context.Canceled
		}
		return nil
	})
	if _, err := w.tryWith(ctx, d, r, func(a *apply.Applier) { a.Concurrency = 1 }); !errors.Is(err, context.Canceled) {
		w.Fatalf("the run was not broken off: %v", err)
	}
	w.gate.on(nil)
	must(w, w.applier(w.deps()).ConfirmUploads(w.Context(), run))
	must(w, w.store.Relist(w.Context(), run.Num))
	return run
}

// TestContinuedSyncFollowsWhatItSent verifies that a resumed sync also follows changes of objects
// that it has already uploaded: in the end the destination equals the source, and a renamed object
// is renamed and not uploaded again.
func TestContinuedSyncFollowsWhatItSent(t *testing.T) {
	t.Parallel()
	removing := func(changes ...func(*migrate.SyncRules)) migrate.Rules {
		return syncing(append(changes, func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })...)
	}
	for name, tc := range map[string]struct {
		since func(w *world) // the change of the object that was uploaded
		as    string         // the key of its asset after the change
		want  map[string]string
	}{
		"changed": {func(w *world) { w.put("a.jpg", "other content") }, "a.jpg",
			map[string]string{"a.jpg": decided(state.Replace, migrate.ReasonContentChanged)}},
		"renamed": {func(w *world) { w.renamed("a.jpg", "dir/b.jpg") }, "dir/b.jpg",
			map[string]string{"dir/b.jpg": decided(state.Move, migrate.ReasonMoved) + " from a.jpg"}},
		"renamed in case only": {func(w *world) { w.renamed("a.jpg", "A.jpg") }, "A.jpg",
			map[string]string{"A.jpg": decided(state.Move, migrate.ReasonMoved) + " from a.jpg"}},
		"renamed in case only with new content": {func(w *world) { w.source.Delete("a.jpg"); w.put("A.jpg", "other content") }, "A.jpg",
			map[string]string{"A.jpg": decided(state.Replace, migrate.ReasonContentAndNameChanged) + " from a.jpg"}},
		"deleted": {func(w *world) { w.source.Delete("a.jpg") }, "a.jpg",
			map[string]string{"a.jpg": decided(state.Skip, migrate.ReasonGracePeriod)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "content", "m.jpg", "m", "z.jpg", "z")
			broken := w.breaksOff(w.deps(), removing(), 3)
			id := w.receipt("a.jpg").Asset
			tc.since(w)
			sent := w.requests()["POST /assets"]
			plan := w.syncs(removing())
			tc.want["z.jpg"] = decided(state.Create, migrate.ReasonNew)
			w.wantDecisions(plan, tc.want)
			if n := w.requests()["POST /assets"] - sent; n != 1 {
				t.Errorf("sent %d new contents, want 1", n)
			}
			if plan.Superseded == nil || plan.Superseded.Run != broken.ID || plan.Superseded.Key != "a.jpg" || plan.Run.ID == broken.ID {
				t.Errorf("run %s after %s, overtaken %+v", plan.Run.ID, broken.ID, plan.Superseded)
			}
			if run, err := w.store.Run(t.Context(), broken.ID); err != nil || run.State != state.Superseded {
				t.Errorf("the run that was continued is %s (%v)", run.State, err)
			}
			if got := w.receipt(tc.as).Asset; got != id {
				t.Errorf("%s has asset %s, want %s", tc.as, got, id)
			}
			w.wantSound()
			w.verifies()
		})
	}
}

// TestContinuedSyncFollowsDescriptions verifies that a resumed sync also follows changes of
// metadata that it has already written.
func TestContinuedSyncFollowsDescriptions(t *testing.T) {
	w := newWorld(t)
	before, after := says("a.jpg", "before"), says("a.jpg", "after")
	d := w.deps()
	d.Describer = before
	w.put("a.jpg", "a", "m.jpg", "m", "z.jpg", "z")
	w.breaksOff(d, syncing(), 3)
	d.Describer = after
	plan := w.syncWith(d, syncing())
	if plan.Superseded == nil || plan.Superseded.Key != "a.jpg" {
		t.Errorf("overtaken by %+v", plan.Superseded)
	}
	w.wantDecisions(plan, map[string]string{
		"a.jpg": decided(state.UpdateMetadata, migrate.ReasonMetadataChanged), "z.jpg": decided(state.Create, migrate.ReasonNew),
	})
}

// TestContinuedSyncFollowsWhatItTrashed verifies that an object that reappears after its asset was
// trashed is uploaded again at once.
func TestContinuedSyncFollowsWhatItTrashed(t *testing.T) {
	removing := trashing()
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "z.jpg", "z")
	w.syncs(removing)
	w.source.Delete("a.jpg")
	w.syncs(removing)
	run, err := w.store.Begin(t.Context(), w.pair, "sync", marshal(w, removing))
	must(t, err)
	w.before(failing(errAborted), "finish run")
	if _, err := w.try(t.Context(), removing); !errors.Is(err, errAborted) {
		t.Fatalf("the run was not broken off: %v", err)
	}
	w.unhook()
	must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), run))
	must(t, w.store.Relist(t.Context(), run.Num))
	w.put("a.jpg", "a")
	plan := w.syncs(removing)
	w.wantDecisions(plan, map[string]string{"a.jpg": decided(state.Create, migrate.ReasonNew)})
	w.wantSound()
}

// TestContinuedSyncStaysTheSameRun verifies that a resumed sync stays the same run if nothing that
// it uploaded has changed, with every way to compare objects.
func TestContinuedSyncStaysTheSameRun(t *testing.T) {
	t.Parallel()
	sharing := syncing()
	sharing.Duplicates = "one-asset"
	sharing.Sync.Checksum = true
	for name, r := range map[string]migrate.Rules{
		"as usual":       syncing(),
		"checksum":       syncing(func(s *migrate.SyncRules) { s.Checksum = true }),
		"describe again": syncing(func(s *migrate.SyncRules) { s.RefreshMetadata = true }),
		"delete":         trashing(),
		"one asset":      sharing,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "content", "b.jpg", "content", "c.jpg", "c", "c.jpg.json", saying("beside it"), "m.jpg", "m", "z.jpg", "z")
			d := w.deps()
			d.Describer = says("a.jpg", "in a table")
			run := w.breaksOff(d, r, 4)
			w.put("m2.jpg", "new")
			w.source.PutObject(sources.Object{Key: "locked/", Obstacle: sources.UnreadableDirectory}, nil)
			plan := w.syncWith(d, r)
			if plan.Run.ID != run.ID || plan.Superseded != nil {
				t.Errorf("run %s went on as %s: %+v", run.ID, plan.Run.ID, plan.Superseded)
			}
			w.wantSound()
		})
	}
}
