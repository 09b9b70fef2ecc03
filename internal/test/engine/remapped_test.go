package engine

import (
	"net/http"
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
)

// ruled returns dependencies and rules of a sync. If description is set, a mapping rule gives it to
// every object.
func (w *world) ruled(description string) (migrate.Deps, migrate.Rules) {
	w.Helper()
	d := w.deps()
	if description != "" {
		d = w.by("- {description: " + description + "}")
	}
	r := syncRules("keep")
	r.Mapping = d.Mapping.Checksum()
	return d, r
}

// refusing makes the service refuse to update the metadata of an asset while f runs.
func (w *world) refusing(key string, f func()) {
	id := w.receipt(key).Asset
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, id) {
			r.URL.Path = "/nowhere"
		}
		return nil
	})
	f()
	w.gate.on(nil)
}

// TestOtherRulesUpdateAllMetadata verifies that a later run applies changed mapping rules to all
// assets, whatever kept a run from doing so.
func TestOtherRulesUpdateAllMetadata(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what, before string
		day          func(w *world, d migrate.Deps, r migrate.Rules)
	}{
		{"nothing", "one", func(*world, migrate.Deps, migrate.Rules) {}},
		{"nothing, and nothing was said before", "", func(*world, migrate.Deps, migrate.Rules) {}},
		{"a refusal", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			w.refusing("a.txt", func() {
				w.wantStates(w.syncWith(d, r), map[string]int64{"update_metadata done": 1, "update_metadata failed": 1})
			})
		}},
		{"a night for what failed", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			r.Sync.Failed = migrate.NewKeyList([]sources.Key{"b.txt"})
			w.syncWith(d, r)
		}},
		{"a night for some", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			r.FilesFrom = migrate.NewKeyList([]sources.Key{"b.txt"})
			w.syncWith(d, r)
		}},
		{"a filter", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			r.Exclude = []string{"a.txt"}
			w.syncWith(d, r)
		}},
		{"a migrate", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			r.Sync = nil
			_, err := w.tryWith(w.Context(), d, r)
			must(w, err)
		}},
		{"an object that cannot be read", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			w.source.PutObject(sources.Object{Key: "a.txt", Size: 1, Obstacle: sources.Unreadable}, nil)
			w.syncWith(d, r)
			w.put("a.txt", "a")
		}},
		{"an undo", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			_, err := w.undoRun(w.Context(), w.deps(), w.syncWith(d, r).Run.ID, false)
			must(w, err)
		}},
		{"a safety check", "one", func(w *world, d migrate.Deps, r migrate.Rules) {
			run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
			must(w, err)
			planner := plan.New(d, r)
			planner.SafetyChecks = safety.SafetyChecks{AcceptRules: true}
			plan, err := planner.Plan(w.Context(), run)
			must(w, err)
			if len(plan.FailedChecks) == 0 {
				w.Error("no safety check stopped it")
			}
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.txt", "a", "b.txt", "b")
			w.syncWith(w.ruled(tt.before))
			d, r := w.ruled("two")
			tt.day(w, d, r)
			w.syncWith(w.ruled("two"))
			w.wantDescriptions(map[string]string{"a.txt": "two", "b.txt": "two"})
			if asked := w.during(func() { w.wantStates(w.syncWith(w.ruled("two")), map[string]int64{"unchanged skipped": 2}) }); len(asked) > 0 {
				t.Errorf("the night after asked %v", asked)
			}
		})
	}
}

// TestOtherRulesDescribeWhatMoves verifies that changed mapping rules also apply to assets that
// move in the same run.
func TestOtherRulesDescribeWhatMoves(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a", "b.txt", "b")
	w.syncWith(w.ruled("one"))
	w.source.Delete("a.txt")
	w.put("dir/c.txt", "a")
	for range 2 {
		w.syncWith(w.ruled("two"))
	}
	w.wantDescriptions(map[string]string{"b.txt": "two", "dir/c.txt": "two"})
}

// TestOtherRulesKeepAdoptedMetadata verifies that adopted assets keep the metadata of users,
// whatever the rules say.
func TestOtherRulesKeepAdoptedMetadata(t *testing.T) {
	w := newWorld(t)
	w.upload(w.texts, "", "a.txt", "a")
	w.put("a.txt", "a")
	w.syncWith(w.ruled(""))
	for range 2 {
		w.syncWith(w.ruled("two"))
	}
	w.wantDescriptions(map[string]string{"a.txt": ""})
}
