package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/state"
)

func TestAdoptOnly(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "mine", "c.jpg", "c", "dir/d.jpg", "d", "e.odd", "e")
	w.upload(w.images, "", "a.jpg", "a")
	w.upload(w.images, "", "b.jpg", "theirs")
	w.upload(w.images, w.folder(w.images, "", "dir"), "d.jpg", "d")
	r := migrate.DefaultRules()
	r.AdoptOnly = true
	r.Unsupported = "create" // regardless of the test case
	r.OnExisting = "create"
	var plan migrate.Plan
	asked := w.during(func() { plan = w.migrate(r) })
	if sent := writes(asked); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	if len(plan.Categories) > 0 {
		t.Errorf("wants categories %v", plan.Categories)
	}
	w.wantStates(plan, map[string]int64{"adopt done": 2, "conflict conflict": 1, "skip skipped": 2})

	next := w.migrate(func() migrate.Rules { r := migrate.DefaultRules(); r.Unsupported = "skip"; return r }())
	w.wantStates(next, map[string]int64{"create done": 1, "conflict conflict": 1, "skip skipped": 1, "unchanged skipped": 2})
}

// provenance makes the applier add a provenance mark to the assets that it uploads.
func provenance(a *apply.Applier) { a.Provenance = "always" }

func TestProvenance(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "dir/b.jpg", "b")
	asked := w.during(func() {
		_, err := w.try(t.Context(), migrate.DefaultRules(), provenance)
		must(t, err)
	})
	if asked["PATCH /assets/{id}"] != 2 || asked["POST /assets"] != 2 || asked["GET /assets/{id}"] != 0 {
		t.Errorf("asked %v, want two uploads and two descriptions", asked)
	}
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "dir/b.jpg")
	must(t, err)
	a, err := w.other.Asset(t.Context(), r.Asset)
	must(t, err)
	mark, _ := a.Metadata.CustomAttributes["assetferry"].(string)
	if !strings.HasSuffix(mark, "."+r.Asset) || strings.Contains(mark, "dir") || strings.Contains(mark, "memory") {
		t.Errorf("the asset says %q", mark)
	}

	// The state database is lost, but the provenance mark suffices: no content is read.
	w.loseState()
	asked = w.during(func() { w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 2}) })
	for what := range asked {
		if strings.Contains(what, "file") || strings.HasPrefix(what, "P") {
			t.Errorf("asked %s", what)
		}
	}
}

// TestProvenanceOfSomethingElse verifies that a provenance mark with the checksum of other content,
// or on another asset, is ignored.
func TestProvenanceOfSomethingElse(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	_, err := w.try(t.Context(), migrate.DefaultRules(), provenance)
	must(t, err)
	w.put("a.jpg", "b") // of the same length
	w.loseState()
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"conflict conflict": 1})
}

// TestKilledBeforeDescribing verifies that a process killed after an upload and before the metadata
// update leaves the update to the next process, which does not upload again.
func TestKilledBeforeDescribing(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	plan := w.die(migrate.DefaultRules(), "a.jpg")
	asked := w.during(func() {
		_, err := w.try(t.Context(), migrate.DefaultRules(), provenance)
		must(t, err)
	})
	if asked["PATCH /assets/{id}"] != 2 || asked["POST /assets"] != 1 {
		t.Errorf("asked %v, want one upload and two descriptions", asked)
	}
	w.wantStates(plan, map[string]int64{"create done": 2})
}

// TestDescribingFails verifies that an asset whose metadata update fails is kept, and is never
// uploaded again.
func TestDescribingFails(t *testing.T) {
	w := newWorld(t, faults(t, "PATCH /assets/{id} status=422 once=1"))
	w.put("a.jpg", "a")
	planned, err := w.try(t.Context(), migrate.DefaultRules(), provenance)
	must(t, err)
	w.wantStates(planned, map[string]int64{"create failed": 1})
	if n := w.requests()["POST /assets"]; n != 1 {
		t.Errorf("sent %d times", n)
	}
	if i := w.item(planned, "a.jpg"); !strings.Contains(i.Error, "its metadata is not written") || i.Asset == "" {
		t.Errorf("got error %q, asset %q", i.Error, i.Asset)
	}
	w.wantStates(w.syncWith(w.silent(), migrate.DefaultRules()), map[string]int64{"unchanged skipped": 1})

	// A later run with metadata updates it, and the run after that has nothing to do.
	describe := func() migrate.Plan {
		run, err := w.store.Begin(t.Context(), w.pair, "migrate", marshal(w, migrate.DefaultRules()))
		must(t, err)
		p := plan.New(w.deps(), migrate.DefaultRules())
		p.Describes = true
		planned, err := p.Plan(t.Context(), run)
		must(t, err)
		must(t, w.applier(w.deps(), provenance).Apply(t.Context(), planned.Run))
		return planned
	}
	w.wantStates(describe(), map[string]int64{"update_metadata done": 1})
	if n := w.requests()["POST /assets"]; n != 1 {
		t.Errorf("sent %d times", n)
	}
	w.wantStates(describe(), map[string]int64{"unchanged skipped": 1})
}

// TestFolderOfAFormerProcess verifies that the run waits for a folder that a previous process
// requested and that may still appear, and does not create it twice.
func TestFolderOfAFormerProcess(t *testing.T) {
	t.Parallel()
	const late = 200 * time.Millisecond
	w := newWorld(t)
	w.put("dir/a.jpg", "a")
	must(t, w.store.Intend(t.Context(), w.pair.Destination, state.PlaceKey{Category: w.images, Path: "dir"}, time.Now()))
	made := w.atLast(late, func() { w.folder(w.images, "", "dir") })
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) { a.ResponseTimeout = late })
	made()
	must(t, err)
	if n := w.folders()["Images/dir"]; n != 1 {
		t.Errorf("the folder is there %d times", n)
	}
	if left, err := w.store.Intents(t.Context(), w.pair.Destination); err != nil || len(left) != 0 {
		t.Errorf("intents left: %v (%v)", left, err)
	}
}

// TestFolderOfALongDeadProcess verifies that the run does not wait for a folder that was requested
// long ago: it exists by now or it never will.
func TestFolderOfALongDeadProcess(t *testing.T) {
	w := newWorld(t)
	w.put("dir/a.jpg", "a")
	death := time.Now().Add(-2 * time.Hour)
	must(t, w.store.Intend(t.Context(), w.pair.Destination, state.PlaceKey{Category: w.images, Path: "dir"}, death))
	_, err := w.try(t.Context(), migrate.DefaultRules(), func(a *apply.Applier) {
		a.ResponseTimeout, a.FormerAlive = time.Hour, death
	})
	must(t, err)
	if n := w.folders()["Images/dir"]; n != 1 {
		t.Errorf("the folder is there %d times", n)
	}
}

// TestFolderThatIsNeverMade verifies that items fail, and do not become unconfirmed, if all answers
// about their folder are lost and the folder is never created.
func TestFolderThatIsNeverMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /folders status=500"))
	w.put("dir/a.jpg", "a")
	plan, err := w.try(t.Context(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create failed": 1})
	if i := w.item(plan, "dir/a.jpg"); !strings.Contains(i.Error, "requested 3 times, but not found") || errors.Is(err, migrate.ErrStopped) {
		t.Errorf("got %q", i.Error)
	}
}
