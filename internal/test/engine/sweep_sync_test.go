package engine

import (
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/sandbox/sandboxtest"
	inject "assetferry/internal/test/faults"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// A day is a sync with every action on existing assets.
type day struct {
	confirms bool // the next process confirms uploads first, and only then sends
	rules    migrate.Rules
}

// begin stores a library, changes it, and returns the items of the sync.
func (n day) begin(w *world) []state.Item {
	w.Helper()
	w.put("a.jpg", "a", "old/b.jpg", "b", "old/c.jpg", "c", "old/d.txt", "d", "old/e.bin", "e", "f.jpg", "f", "g.jpg", "g", "gone/h.jpg", "h",
		"gone/i.txt", "i", "stays.txt", "stays")
	w.migrate(migrate.DefaultRules())
	return []state.Item{
		w.renames("a.jpg", "A.jpg", w.images, "", "A.jpg"),
		w.renames("old/b.jpg", "new/b.jpg", w.images, "new", "b.jpg"),
		w.renames("old/c.jpg", "new/c.png", w.images, "new", "c.png"),
		w.renames("old/d.txt", "new/d.txt", w.texts, "new", "d.txt"),
		w.renames("old/e.bin", "e.bin", w.texts, "", "e.bin"),
		w.changesTo("f.jpg", "f, and more"),
		w.changesTo("g.jpg", "G"),
		w.loses("gone/h.jpg"), w.loses("gone/i.txt"),
	}
}

func (n day) after() []placed {
	return []placed{
		{"Images", "", "A.jpg", checksum("a")}, {"Images", "", "f.jpg", checksum("f, and more")}, {"Images", "", "g.jpg", checksum("G")},
		{"Images", "new", "b.jpg", checksum("b")}, {"Images", "new", "c.png", checksum("c")},
		{"Texts", "", "e.bin", checksum("e")}, {"Texts", "", "stays.txt", checksum("stays")}, {"Texts", "new", "d.txt", checksum("d")},
	}
}

func (n day) patient(a *apply.Applier) { a.Wait = 20 * short }

// survives applies a plan with a fault and then without one, and verifies the result. It reports
// whether the fault occurred.
func (n day) survives(t *testing.T, h hit) bool {
	t.Helper()
	w := newWorld(t, reading(t, sandboxtest.Reading(h.at)))
	defer w.close()
	items := n.begin(w)
	plan := w.planSync(n.rules, items...)
	transport, d, at := w.gate.next, w.deps(), h.moment()
	h.strike(w, &d, at)
	err := w.applySync(t.Context(), d, plan, n.patient)
	w.gate.next = transport
	w.unhook()
	switch {
	case at.Came() && h.deadly && !errors.Is(err, inject.Err):
		t.Errorf("%v: the run ended with %v, want the fault", h, err)
	case !at.Came():
		must(t, err)
	}
	if bad := n.finish(w, plan, items); bad != "" {
		t.Errorf("%v, after a run that ended with %v: %s", h, err, bad)
	} else if diff := gocmp.Diff(n.after(), w.assetsAt()); diff != "" {
		t.Errorf("%v, after a run that ended with %v (-want +got):\n%s", h, err, diff)
	} else {
		w.wantAsLeft()
	}
	return at.Came()
}

// finish resumes until the run is finished, and plans the failed items again.
func (n day) finish(w *world, plan migrate.Plan, items []state.Item) (bad string) {
	w.Helper()
	for range 4 {
		run, err := w.store.Run(w.Context(), plan.Run.ID)
		must(w, err)
		if n.confirms && run.State == state.Applying {
			if err := w.applier(w.deps(), n.patient).ConfirmUploads(w.Context(), run); err != nil {
				return fmt.Sprintf("settled without faults: %v", err)
			}
		}
		if run.State != state.Finished {
			if err := w.applySync(w.Context(), w.deps(), plan, n.patient); err != nil {
				return fmt.Sprintf("a run without faults ended with %v", err)
			}
		}
		w.wantSound()
		items = n.left(w, plan, items)
		if run, err = w.store.Run(w.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
			continue
		}
		if len(items) == 0 {
			return ""
		}
		plan = w.planSync(n.rules, items...)
	}
	states, _ := w.states(plan)
	return fmt.Sprintf("still not done after several runs without faults: %v", states)
}

// left returns the items that are not done.
func (n day) left(w *world, plan migrate.Plan, items []state.Item) (left []state.Item) {
	w.Helper()
	for _, i := range items {
		if w.item(plan, string(i.Key)).State != state.ItemDone {
			left = append(left, i)
		}
	}
	return left
}

// TestSweepOfSync makes the n-th call fail, alone or with all later ones, in a sync that moves,
// replaces and trashes. It verifies that in the end each action has happened once.
func TestSweepOfSync(t *testing.T) {
	random := seedtest.Rand(t)
	step := 9 * slowdown
	if sweepsAll() {
		step = 1
	}
	for _, b := range blows() {
		for _, lasts := range []bool{false, true} {
			first, confirms := random.IntN(step), random.IntN(2) == 0
			t.Run(fmt.Sprintf("%v%s, settles %v", b, lasting(lasts), confirms), func(t *testing.T) {
				t.Parallel()
				s := day{confirms: confirms, rules: syncRules("keep")}
				n := first
				for s.survives(t, hit{b, n, lasts}) {
					n += step
				}
				t.Logf("%d syncs, with faults at calls %d to %d", (n-first)/step, first, n-1)
			})
		}
	}
}
