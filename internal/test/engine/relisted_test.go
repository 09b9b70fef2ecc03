package engine

import (
	"fmt"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// killedOnceItHasPlanned plans a sync that is killed before it changes anything, and then calls
// then. The next listing of the run finds the changes that then makes.
func (w *world) killedOnceItHasPlanned(d migrate.Deps, r migrate.Rules, then func()) {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	p := plan.New(d, r)
	p.SafetyChecks, p.DriftShare = wide(), 0
	_, err = p.Plan(w.Context(), run)
	must(w, err)
	must(w, w.store.SetRunState(w.Context(), run.Num, state.Planned, state.Applying))
	then()
	must(w, w.store.Relist(w.Context(), run.Num))
}

// TestUndoOfReplacedEditMadeBetweenTwoPlans verifies that undo restores the content that users gave
// an asset before it was replaced, even if the run was planned before their edit.
func TestUndoOfReplacedEditMadeBetweenTwoPlans(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			w := newWorld(t)
			wins := syncRules("overwrite")
			w.put("a.jpg", "ours")
			w.syncs(wins)
			w.put("a.jpg", "what the source has now")
			edit := func() { w.replace("a.jpg", "what people made of it") }
			if killed {
				w.killedOnceItHasPlanned(w.deps(), wins, edit)
			} else {
				edit()
			}
			again := w.syncs(wins)
			w.wantStates(again, map[string]int64{"replace done": 1})
			w.undo(again)
			if got := w.content(w.assetOf("a.jpg")); got != "what people made of it" {
				t.Errorf("the undo gave back %q", got)
			}
		})
	}
}

// TestMoveKeepsEditMadeBetweenTwoPlans verifies that an edit of a moved and renamed asset does not
// count as ours, even if the move was planned before it: later metadata of the source does not
// overwrite it.
func TestMoveKeepsEditMadeBetweenTwoPlans(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			now := &clock{}
			w := newWorld(t, now.of)
			keeps := syncRules("keep")
			w.put("a.jpg", "ours")
			w.syncWith(w.depsAt(now), keeps)
			w.renamed("a.jpg", "dir/b.jpg")
			edit := func() {
				now.passes(5 * time.Minute)
				asset := w.receipt("a.jpg").Asset
				w.replacesAt(asset, "a.jpg", "OURS")
				now.passes(5 * time.Minute)
			}
			if killed {
				w.killedOnceItHasPlanned(w.depsAt(now), keeps, edit)
			} else {
				edit()
			}
			w.wantStates(w.syncWith(w.depsAt(now), keeps), map[string]int64{"move done": 1})
			now.passes(5 * time.Minute)
			w.put("dir/b.jpg", "what the source has now")
			w.wantStates(w.syncWith(w.depsAt(now), keeps), map[string]int64{"conflict conflict": 1})
			if got := w.content(w.assetOf("dir/b.jpg")); got != "OURS" {
				t.Errorf("the asset has %q now", got)
			}
		})
	}
}
