package engine

import (
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/plan"
)

var errAborted = errors.New("the state database broke")

// TestPlanBreaksOffAnywhere verifies that a plan that is interrupted between any two of its
// decisions decides the same when it is resumed.
func TestPlanBreaksOffAnywhere(t *testing.T) {
	t.Parallel()
	removing := func() migrate.Rules {
		return syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
	}
	sharing := removing()
	sharing.Duplicates = "one-asset"
	repairing := removing()
	repairing.Sync.Repair = true
	for name, tc := range map[string]struct {
		rules migrate.Rules
		given func(w *world, r migrate.Rules)
	}{
		"a name is free": {removing(), func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "one", "photo.jpg", "another", "z.jpg", "z")
			w.syncs(r)
			w.source.Delete("Photo.jpg")
			w.syncs(r)
			w.syncs(r)
		}},
		"recased": {removing(), func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "before", "z.jpg", "z")
			w.syncs(r)
			w.source.Delete("Photo.jpg")
			w.put("photo.jpg", "after", "PHOTO.jpg", "another")
		}},
		"recased, and deleted there": {removing(), func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "before", "z.jpg", "z")
			w.syncs(r)
			must(w, w.other.Trash(w.Context(), w.assetOf("Photo.jpg").ID))
			w.source.Delete("Photo.jpg")
			w.put("photo.jpg", "after")
		}},
		"recased, and deleted there, to be repaired": {repairing, func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "before", "z.jpg", "z")
			w.syncs(r)
			must(w, w.other.Trash(w.Context(), w.assetOf("Photo.jpg").ID))
			w.source.Delete("Photo.jpg")
			w.put("photo.jpg", "after")
		}},
		"recased, and renamed there": {removing(), func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "before", "z.jpg", "z")
			w.syncs(r)
			_, err := w.other.Update(w.Context(), w.assetOf("Photo.jpg").ID, changesOf("theirs"))
			must(w, err)
			w.source.Delete("Photo.jpg")
			w.put("photo.jpg", "after")
		}},
		"moved, and deleted there": {removing(), func(w *world, r migrate.Rules) {
			w.put("a.jpg", "a", "z.jpg", "z")
			w.syncs(r)
			must(w, w.other.Trash(w.Context(), w.assetOf("a.jpg").ID))
			w.renamed("a.jpg", "dir/b.jpg")
		}},
		"recased, and shared": {sharing, func(w *world, r migrate.Rules) {
			w.put("Photo.jpg", "before", "a.jpg", "before", "z.jpg", "z")
			w.syncs(r)
			w.source.Delete("Photo.jpg")
			w.put("photo.jpg", "after")
		}},
		"our own asset holds the name": {migrate.DefaultRules(), func(w *world, r migrate.Rules) {
			w.put("A.jpg", "content")
			w.migrate(r)
			w.source.Delete("A.jpg")
			w.put("a.jpg", "content")
		}},
		"our own asset holds a name that two want": {migrate.DefaultRules(), func(w *world, r migrate.Rules) {
			w.put("A.jpg", "content")
			w.migrate(r)
			w.source.Delete("A.jpg")
			w.put("A.JPG", "another", "a.jpg", "content")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.given(w, tc.rules)
			want := w.items(w.decideSync(tc.rules))
			for n := int64(0); ; n++ {
				run, err := w.store.Begin(w.Context(), w.pair, "plan", marshal(w, tc.rules))
				must(w, err)
				plan := func() error {
					p := plan.New(w.deps(), tc.rules)
					p.SafetyChecks, p.DriftShare = wide(), 0
					_, err := p.Plan(w.Context(), run)
					return err
				}
				w.before(nth(n, failing(errAborted)), "store decisions", "add drift", "save previous state of assets", "finish plan")
				err = plan()
				w.unhook()
				if err == nil {
					break
				}
				if !errors.Is(err, errAborted) {
					t.Fatal(err)
				}
				must(w, plan())
				if diff := gocmp.Diff(want, w.items(migrate.Plan{Run: run})); diff != "" {
					t.Errorf("broken off before write %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// items returns the decision of a plan for each object, as lines.
func (w *world) items(p migrate.Plan) (all []string) {
	w.Helper()
	for i, err := range w.store.Items(w.Context(), p.Run.Num) {
		must(w, err)
		all = append(all, fmt.Sprintf("%s: %s %s (%s) as %s, from %q, asset %s", i.Key, i.Action, i.State, i.Reason, i.Name, i.PreviousKey, i.Asset))
	}
	return all
}
