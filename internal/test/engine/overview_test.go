package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// planWith makes a plan and verifies what the planner has summed up without reading the items: the
// hash and the tallies. If the plan says that its items are as they were staged, they must be.
func (w *world) planWith(ctx context.Context, p *plan.Planner, run state.Run) (migrate.Plan, error) {
	w.Helper()
	var staged []state.Item
	p.Staged = func() func(*state.Item) {
		staged = nil
		return func(i *state.Item) { staged = append(staged, *i) }
	}
	before, err := w.store.Run(context.WithoutCancel(ctx), run.ID)
	must(w, err)
	made, err := p.Plan(ctx, run)
	if err != nil {
		return made, err
	}
	var stored []state.Item
	counts := map[state.Tally]int64{}
	hash := migrate.NewPlanHash()
	for i, err := range w.store.Items(ctx, made.Run.Num) {
		if err != nil {
			return made, err
		}
		stored = append(stored, i)
		counts[state.Tally{Action: i.Action, Reason: i.Reason, State: i.State}]++
		hash.Add(&i)
	}
	isNew := p.Approval == nil && before.State != state.Applying // else items that are done have their assets
	if sum, err := hash.Sum(p.Head(made.Run, made.Categories)); err != nil || isNew && sum != made.Run.PlanHash {
		w.Errorf("the hash of the plan is %s, and that of its items %s (%v)", made.Run.PlanHash, sum, err)
	}
	for _, t := range made.Tallies {
		if t.Action != state.Unchanged && t.Objects != counts[state.Tally{Action: t.Action, Reason: t.Reason, State: t.State}] {
			w.Errorf("the plan counts %d items of %+v, the state database has %d", t.Objects, t, len(stored))
		}
	}
	if diff := cmp.Diff(stored, staged); made.AsStaged && diff != "" {
		w.Errorf("the items differ from those that were staged (+):\n%s", diff)
	}
	return made, nil
}

// TestAsStaged verifies that the items of a plan are read again exactly if a pass changes one.
func TestAsStaged(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*world)
		want    bool
	}{
		"new objects":              {func(*world) {}, true},
		"a name that is taken":     {func(w *world) { w.put("000.JPG", "another") }, false},
		"two pages":                {func(w *world) { w.putMany(1100) }, true},
		"an object with a sidecar": {func(w *world) { w.put("000.jpg.xmp", "<x/>") }, true},
		"a sidecar before it":      {func(w *world) { w.put("zzz.aaa.xmp", "<x/>"); w.put("zzz.jpg", "content") }, false},
		"an existing asset": {func(w *world) {
			w.migrate(migrate.DefaultRules())
			w.loseState()
		}, false},
		"uploaded objects": {func(w *world) {
			w.migrate(migrate.DefaultRules())
			w.put("new.jpg", "new")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.putMany(3)
			test.prepare(w)
			rules := migrate.DefaultRules()
			run, err := w.store.Begin(t.Context(), w.pair, "plan", marshal(w, rules))
			must(t, err)
			made, err := w.planWith(t.Context(), plan.New(w.deps(), rules), run)
			must(t, err)
			if made.AsStaged != test.want {
				t.Errorf("the plan is as staged: %v", made.AsStaged)
			}
		})
	}
}

// TestStagedAgain verifies that the observer of staged items starts over with each listing.
func TestStagedAgain(t *testing.T) {
	w := newWorld(t)
	w.putMany(1)
	p := plan.New(w.deps(), migrate.DefaultRules())
	var staged []sources.Key
	p.Staged = func() func(*state.Item) {
		staged = nil
		return func(i *state.Item) { staged = append(staged, i.Key) }
	}
	for n := range 2 {
		w.put(fmt.Sprintf("more%d.jpg", n), fmt.Sprint(n))
		run, err := w.store.Begin(t.Context(), w.pair, "plan", marshal(w, p.Rules))
		must(t, err)
		_, err = p.Plan(t.Context(), run)
		must(t, err)
		if len(staged) != n+2 {
			t.Errorf("staged %q", staged)
		}
	}
}
