package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

func TestLifeOfARun(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	must(t, j.Stage(ctx, j.run.Num, Page{Items: []Item{staged("a")}, Cursor: "a", Unchanged: 2, UnchangedBytes: 30}))
	if r := j.reload(); r.State != Scanning || r.Cursor != "a" || r.Scanned || r.Unchanged != 2 || r.UnchangedBytes != 30 {
		t.Errorf("while scanning: %+v", r)
	}
	must(t, j.Stage(ctx, j.run.Num, Page{Items: []Item{staged("b")}, Cursor: "c", Unchanged: 1, UnchangedBytes: 5, Done: true}))
	if r := j.reload(); r.State != Planning || r.Cursor != "c" || !r.Scanned || r.Unchanged != 3 || r.UnchangedBytes != 35 {
		t.Errorf("after scanning: %+v", r)
	}
	must(t, j.Decided(ctx, j.run.Num, []Item{decided("a", Create, ItemPlanned), decided("b", Skip, ItemSkipped)}))
	must(t, j.FinishPlan(ctx, j.run.Num, "hash", json.RawMessage(`[{"name":"New"}]`)))
	if r := j.reload(); r.State != Planned || r.PlanHash != "hash" || string(r.Categories) != `[{"name":"New"}]` {
		t.Errorf("planned: %+v", r)
	}
	must(t, j.SetRunState(ctx, j.run.Num, Planned, Applying))
	j.take(9)
	must(t, j.record(done("a")))
	must(t, j.FinishRun(ctx, j.run.Num))
	if r := j.reload(); r.State != Finished || r.Open() || r.FinishedAt.IsZero() {
		t.Errorf("finished: %+v", r)
	}
	if _, err := j.Unfinished(ctx, j.pair); !errors.Is(err, ErrNotFound) {
		t.Errorf("a finished run is unfinished: %v", err)
	}
	if runs, err := j.RunsOf(ctx, j.pair.ID, 5); err != nil || len(runs) != 1 || !runs[0].StartedAt.Equal(j.run.StartedAt) {
		t.Errorf("got %+v (%v)", runs, err)
	}
}

func (j *journey) reload() Run {
	j.Helper()
	r, err := j.Run(j.Context(), j.run.ID)
	must(j, err)
	return r
}

// at returns a journey with a new run in a state.
func at(t *testing.T, st RunState) *journey {
	j := begin(t)
	switch st {
	case Scanning:
	case Planning:
		j.stage("a", "b")
	default:
		j.stage("a", "b")
		must(t, j.Decided(t.Context(), j.run.Num, []Item{decided("a", Skip, ItemSkipped), decided("b", Skip, ItemSkipped)}))
		must(t, j.FinishPlan(t.Context(), j.run.Num, "h", json.RawMessage("[]")))
	}
	if st == Applying || st == Finished {
		must(t, j.SetRunState(t.Context(), j.run.Num, Planned, Applying))
	}
	if st == Finished {
		must(t, j.FinishRun(t.Context(), j.run.Num))
	}
	if st == Superseded {
		must(t, j.Supersede(t.Context(), j.run.Num))
	}
	return j
}

func TestTransitionsOfRuns(t *testing.T) {
	all := []RunState{Scanning, Planning, Planned, Applying, Finished, Superseded}
	for _, tc := range []struct {
		name  string
		do    func(*journey) error
		legal []RunState
	}{
		{"Stage", func(j *journey) error { return j.Stage(j.Context(), j.run.Num, Page{}) }, []RunState{Scanning}},
		{"Decided", func(j *journey) error { return j.Decided(j.Context(), j.run.Num, nil) }, []RunState{Planning}},
		{"FinishPlan", func(j *journey) error { return j.FinishPlan(j.Context(), j.run.Num, "h", json.RawMessage("[]")) }, []RunState{Planning}},
		{"begin to apply", func(j *journey) error { return j.SetRunState(j.Context(), j.run.Num, Planned, Applying) }, []RunState{Planned}},
		{"Take", func(j *journey) error {
			_, err := j.Take(j.Context(), j.run.Num, Next{After: "", N: 1, Time: time.Now()})
			return err
		}, []RunState{Applying}},
		{"FinishRun", func(j *journey) error { return j.FinishRun(j.Context(), j.run.Num) }, []RunState{Applying}},
		{"Relist", func(j *journey) error { return j.Relist(j.Context(), j.run.Num) }, []RunState{Scanning, Planning, Planned, Applying}},
		{"Supersede", func(j *journey) error { return j.Supersede(j.Context(), j.run.Num) }, []RunState{Scanning, Planning, Planned, Applying}},
	} {
		for _, st := range all {
			t.Run(fmt.Sprintf("%s when %s", tc.name, st), func(t *testing.T) {
				j := at(t, st)
				before := j.reload()
				err := tc.do(j)
				legal := false
				for _, l := range tc.legal {
					legal = legal || l == st
				}
				if legal && err != nil || !legal && !errors.Is(err, ErrConflict) {
					t.Errorf("got %v", err)
				}
				if after := j.reload(); !legal && after.State != before.State {
					t.Errorf("an illegal transition led to %s", after.State)
				}
			})
		}
	}
}

func TestBeginEndsPlans(t *testing.T) {
	j := begin(t)
	j.stage("a", "b")
	must(t, j.StageInventory(t.Context(), RunScope(j.run.Num), []Entry{{Asset: "x"}}))
	other, err := j.Pair(t.Context(), "another", "destination", "")
	must(t, err)
	elsewhere, err := j.Begin(t.Context(), other, "plan", json.RawMessage("{}"))
	must(t, err)
	second, err := j.Begin(t.Context(), j.pair, "plan", json.RawMessage("{}"))
	must(t, err)
	if r := j.reload(); r.State != Superseded {
		t.Errorf("the plan before is %s", r.State)
	}
	if items := collect(t, j.Items(t.Context(), j.run.Num)); len(items) > 0 {
		t.Errorf("it kept %d items", len(items))
	}
	if entries, err := j.EntriesAt(t.Context(), RunScope(j.run.Num), []int64{0}); err != nil || len(entries) > 0 {
		t.Errorf("it kept its inventory: %v (%v)", entries, err)
	}
	if r, err := j.Run(t.Context(), elsewhere.ID); err != nil || r.State != Scanning {
		t.Errorf("the plan of another pair is %s (%v)", r.State, err)
	}
	if _, err := j.Unfinished(t.Context(), j.pair); !errors.Is(err, ErrNotFound) {
		t.Errorf("a plan alone is nothing to continue: %v", err)
	}
	if second.ID == j.run.ID {
		t.Error("two runs have one id")
	}
}

func TestBeginLeavesAppliedRunsAlone(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	_, err := j.Begin(t.Context(), j.pair, "plan", json.RawMessage("{}"))
	must(t, err)
	if r, err := j.Unfinished(t.Context(), j.pair); err != nil || r.ID != j.run.ID || r.State != Applying {
		t.Errorf("got %+v (%v)", r, err)
	}
}

func TestRelistKeepsOutcomes(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c", "d")
	j.take(3)
	must(t, j.record(done("a"), Outcome{Key: "b", State: ItemFailed, Class: "permanent", Error: "no"}))
	if err := j.Relist(t.Context(), j.run.Num); !errors.Is(err, ErrConflict) {
		t.Errorf("with an item being sent: got %v, want ErrConflict", err)
	}
	must(t, j.Release(t.Context(), j.run.Num, []sources.Key{"c"}))
	must(t, j.Relist(t.Context(), j.run.Num))
	if r := j.reload(); r.State != Scanning || r.Cursor != "" || r.Scanned || r.Unchanged != 0 {
		t.Errorf("got %+v", r)
	}
	if got := keysOf(collect(t, j.Items(t.Context(), j.run.Num))); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("kept %q", got)
	}
	j.stage("a", "b") // an item with an outcome keeps it
	if j.stateOf("a") != ItemDone || j.stateOf("b") != ItemStaged {
		t.Errorf("got %s and %s", j.stateOf("a"), j.stateOf("b"))
	}
	if err := j.Decided(t.Context(), j.run.Num, []Item{decided("a", Create, ItemPlanned)}); !errors.Is(err, ErrConflict) {
		t.Errorf("an outcome was decided anew: %v", err)
	}
	if _, err := j.Begin(t.Context(), j.pair, "plan", json.RawMessage("{}")); err != nil {
		t.Error(err)
	}
	if j.stateOf("a") != ItemDone {
		t.Error("a plan after it took its outcomes away")
	}
}

// TestOutdateOthers verifies that when a pair starts to upload, the plans of other sources for the
// same destination become stale. Plans that are made again before they are applied do not.
func TestOutdateOthers(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	other, err := j.Pair(t.Context(), "another", j.pair.Destination, "")
	must(t, err)
	elsewhere, err := j.Pair(t.Context(), j.pair.Source, "elsewhere", "")
	must(t, err)
	for _, tc := range []struct {
		by   Pair
		want bool
	}{{j.pair, false}, {elsewhere, false}, {other, true}} {
		must(t, j.OutdateOthers(t.Context(), Run{Pair: tc.by}, nil))
		if got := j.reload().Stale; got != tc.want {
			t.Errorf("after %s sent to %s: stale %v, want %v", tc.by.Source, tc.by.Destination, got, tc.want)
		}
	}
}

func TestSupersedeWaitsForUnconfirmed(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(1)
	_, err := j.Interrupted(t.Context(), j.run.Num)
	must(t, err)
	if err := j.Supersede(t.Context(), j.run.Num); !errors.Is(err, ErrConflict) {
		t.Errorf("with an unconfirmed item: got %v, want ErrConflict", err)
	}
	must(t, j.record(done("a")))
	must(t, j.Supersede(t.Context(), j.run.Num))
	if got := keysOf(collect(t, j.Items(t.Context(), j.run.Num))); !cmp.Equal(got, []string{"a", "b"}) {
		t.Errorf("kept %q", got)
	}
}

// TestSupersedeForgetsWhatNeverBegan verifies that a superseded run that has sent nothing leaves no
// items, be it a plan or a declined undo.
func TestSupersedeForgetsWhatNeverBegan(t *testing.T) {
	for name, plan := range map[string]func(j *journey) Run{
		"plan": func(j *journey) Run {
			run, err := j.Begin(t.Context(), j.pair, "migrate", json.RawMessage("{}"))
			must(t, err)
			must(t, j.Stage(t.Context(), run.Num, Page{Items: []Item{staged("new"), staged("odd")}, Done: true}))
			must(t, j.Decided(t.Context(), run.Num, []Item{decided("new", Create, ItemPlanned), decided("odd", Conflict, ItemConflict)}))
			must(t, j.FinishPlan(t.Context(), run.Num, "hash", json.RawMessage("[]")))
			return run
		},
		"undo": func(j *journey) Run {
			u, _ := j.undoPlanned(j.everyAction())
			return u
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := libraryOf(t)
			run := plan(j)
			must(t, j.Supersede(t.Context(), run.Num))
			if got := keysOf(collect(t, j.Items(t.Context(), run.Num))); len(got) > 0 {
				t.Errorf("kept %q", got)
			}
			if last, err := j.LastApplied(t.Context(), j.pair); err != nil || last.Num == run.Num {
				t.Errorf("it counts as a run that was applied (%v)", err)
			}
		})
	}
}

// TestSupersedeForgetsWhatAnUndoHadNotComeTo verifies that a superseded undo keeps only the items
// that it had started.
func TestSupersedeForgetsWhatAnUndoHadNotComeTo(t *testing.T) {
	j := libraryOf(t)
	u, outcomes := j.undoPlanned(j.everyAction())
	must(t, j.SetRunState(t.Context(), u.Num, Planned, Applying))
	taken, err := j.Take(t.Context(), u.Num, Next{N: 1, Time: time.Now()})
	must(t, err)
	n := slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Key == taken[0].Key })
	must(t, j.Record(t.Context(), u.Num, j.pair.ID, outcomes[n:n+1]))
	must(t, j.Supersede(t.Context(), u.Num))
	if got := keysOf(collect(t, j.Items(t.Context(), u.Num))); !slices.Equal(got, keysOf(taken)) {
		t.Errorf("kept %q, want %q", got, keysOf(taken))
	}
}

func TestFinishRunLeavesNothingBehind(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	for _, step := range []func(){
		func() {},
		func() { j.take(1) },
		func() {
			_, err := j.Interrupted(t.Context(), j.run.Num)
			must(t, err)
		},
		func() { must(t, j.record(done("a"))) },
		func() { j.take(1) },
	} {
		step()
		if err := j.FinishRun(t.Context(), j.run.Num); !errors.Is(err, ErrConflict) {
			t.Fatalf("a run with something left to do was finished: %v", err)
		}
	}
	must(t, j.record(Outcome{Key: "b", State: ItemFailed, Error: "no"}))
	must(t, j.FinishRun(t.Context(), j.run.Num))
}

func TestNotFound(t *testing.T) {
	j := begin(t)
	ctx := t.Context()
	_, run := j.Run(ctx, "none")
	_, item := j.Item(ctx, j.run.Num, "none")
	_, r := j.Receipt(ctx, j.pair.ID, "none")
	_, v := j.LastVerification(ctx, j.pair.ID)
	for name, err := range map[string]error{"Run": run, "Item": item, "Receipt": r, "LastVerification": v} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
}
