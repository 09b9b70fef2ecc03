package migrate

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/state"
)

// A runLaw states in one line which run a command is expected to use. The first law that applies
// decides. Laws are written independently of the code.
type runLaw struct {
	holds func(runCase) bool
	step  RunStep
	why   RunReason
}

// A runCase is a situation in the words of the laws.
type runCase struct {
	RunSituation
	none      bool // no run is unfinished
	sent      bool // the unfinished one has begun to send
	same      bool // the command is the same
	otherPlan bool // and of another approved plan
	differs   bool // its rules are others
	old       bool // its listing is too old
}

func runLaws() []runLaw {
	keeps := func(c runCase) bool { return c.same && !c.otherPlan && !c.Restart } // only its rules may prevent resuming that run
	return []runLaw{
		{func(c runCase) bool { return c.none }, StepBegin, ""},

		// A plan begins its own run, and reports the other one.
		{func(c runCase) bool { return c.Command == "plan" && c.sent }, StepBegin, WhyOtherRun},
		{func(c runCase) bool { return c.Command == "plan" }, StepBegin, ""},

		// An undo that has undone something is finished, or ended by a person.
		{func(c runCase) bool { return c.Unfinished.Undoes != 0 && !c.sent }, StepBegin, ""},
		{func(c runCase) bool { return c.Unfinished.Undoes != 0 && !c.Restart }, StepRefuse, WhyOtherRun},
		{func(c runCase) bool { return c.Unfinished.Undoes != 0 }, StepSupersede, WhyRestart},

		// A sync needs no confirmation: it follows the present state.
		{func(c runCase) bool { return c.Command == "sync" && c.same && !c.sent }, StepBegin, ""},
		{func(c runCase) bool { return c.Command == "sync" && keeps(c) && !c.differs }, StepRelist, WhyNews},
		{func(c runCase) bool { return c.Command == "sync" && keeps(c) }, StepSupersede, WhyOtherRules},

		// Every other run that has sent something ends only if a person confirms that.
		{func(c runCase) bool { return c.Restart }, StepSupersede, WhyRestart},
		{func(c runCase) bool { return !c.same && c.sent }, StepRefuse, WhyOtherRun},
		{func(c runCase) bool { return !c.same }, StepSupersede, WhyOtherRun},
		{func(c runCase) bool { return c.otherPlan && c.sent }, StepRefuse, WhyOtherPlan},
		{func(c runCase) bool { return c.otherPlan }, StepSupersede, WhyOtherPlan},
		{func(c runCase) bool { return c.differs && c.sent }, StepRefuse, WhyOtherRules},
		{func(c runCase) bool { return c.differs }, StepSupersede, WhyOtherRules},

		// The run is the same, and only its listing may be outdated.
		{func(c runCase) bool { return c.Unfinished.Stale }, StepRelist, WhyStale},
		{func(c runCase) bool { return c.old }, StepRelist, WhyOldListing},
		{func(c runCase) bool { return c.Unfinished.State == state.Planned }, StepReplan, ""},
		{func(runCase) bool { return true }, StepResume, ""},
	}
}

func storedRules(t *testing.T, r Rules) json.RawMessage {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unfinishedRuns are runs of every kind that can be unfinished, and none.
func unfinishedRuns(t *testing.T, now time.Time, rules ...Rules) []state.Run {
	runs := []state.Run{{}}
	for _, command := range []string{"migrate", "sync", "adopt", "apply", "undo"} {
		for _, at := range []state.RunState{state.Scanning, state.Planning, state.Planned, state.Applying} {
			for _, r := range rules {
				for _, age := range []time.Duration{0, 12 * time.Hour, 12*time.Hour + time.Millisecond} {
					for flags := range 4 {
						run := state.Run{Num: 7, Command: command, State: at, Rules: storedRules(t, r), ListedAt: now.Add(-age), Stale: flags&1 != 0,
							PlanHash: map[bool]string{true: "this plan", false: "another plan"}[flags&2 != 0]} // for each command
						if command == "undo" {
							run.Undoes, run.Rules = 3, json.RawMessage("{}")
						}
						runs = append(runs, run)
					}
				}
			}
		}
	}
	return runs
}

func TestDecideRunCrossProduct(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	rules, other := DefaultRules(), DefaultRules()
	other.Exclude = []string{"drafts"}
	cases, differences := 0, rules.Changes(other)
	for _, run := range unfinishedRuns(t, now, rules, other) {
		for _, command := range []string{"plan", "migrate", "sync", "adopt", "apply"} {
			for _, restart := range []bool{false, true} {
				cases++
				c := runCase{
					RunSituation: RunSituation{Unfinished: run, Command: command, Rules: rules, Restart: restart, Now: now},
					none:         run.Num == 0, sent: run.State == state.Applying, same: run.Command == command,
					differs: cmp.Equal(run.Rules, storedRules(t, other)), old: now.Sub(run.ListedAt) > 12*time.Hour,
				}
				if command == "apply" {
					c.PlanHash, c.otherPlan = "this plan", run.Command == "apply" && run.PlanHash == "another plan"
				}
				checkDecideRun(t, c, differences)
			}
		}
	}
	if cases != (1+5*4*2*3*4)*5*2 {
		t.Errorf("looked at %d cases", cases)
	}
}

func checkDecideRun(t *testing.T, c runCase, differences []string) {
	got, err := DecideRun(c.RunSituation)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	for _, l := range runLaws() {
		if !l.holds(c) {
			continue
		}
		want := RunDecision{Step: l.step, Why: l.why}
		if l.why == WhyOtherRules {
			want.Differences = differences
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", c, diff)
		}
		return
	}
}

// TestDecideRunWithUnreadableRules verifies that a run with unreadable rules is not resumed, and
// that a person may end it.
func TestDecideRunWithUnreadableRules(t *testing.T) {
	t.Parallel()
	s := RunSituation{Unfinished: state.Run{Num: 7, Command: "migrate", State: state.Applying, Rules: json.RawMessage("no JSON")}, Command: "migrate", Rules: DefaultRules()}
	if got, err := DecideRun(s); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
	s.Restart = true
	if got, err := DecideRun(s); err != nil || got.Step != StepSupersede {
		t.Errorf("given up: got %+v, %v", got, err)
	}
}

// An undoLaw states in one line how an undo is expected to begin.
type undoLaw struct {
	holds           func(UndoRunSituation) bool
	applied, shown  RunStep
	appliedWhy, why RunReason
}

func undoLaws() []undoLaw {
	underWay := func(s UndoRunSituation) bool { return s.Unfinished.State == state.Applying }
	return []undoLaw{
		{func(s UndoRunSituation) bool { return s.Apply && underWay(s) && s.Unfinished.Undoes == s.Undone.Num }, StepRelist, "", WhyNews, ""},
		{func(s UndoRunSituation) bool { return s.Unconfirmed }, StepRefuse, StepBegin, WhyUnconfirmed, WhyUnconfirmed},
		{func(s UndoRunSituation) bool { return !s.Undoable }, StepNothing, StepNothing, "", ""},
		{func(s UndoRunSituation) bool { return underWay(s) && s.Unfinished.Num != s.Undone.Num }, StepRefuse, StepBegin, WhyOtherRun, WhyOtherRun},
		{func(s UndoRunSituation) bool {
			return s.Undone.State != state.Finished && s.Undone.State != state.Superseded
		}, StepSupersede, StepBegin, "", ""},
		{func(UndoRunSituation) bool { return true }, StepBegin, StepBegin, "", ""},
	}
}

func TestDecideUndoRunCrossProduct(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, undone := range []state.RunState{state.Scanning, state.Planning, state.Planned, state.Applying, state.Finished, state.Superseded} {
		for _, unfinished := range []state.Run{{}, {Num: 3}, {Num: 5}, {Num: 6, Undoes: 3}, {Num: 6, Undoes: 5}} { // run 3 is the one to undo
			for _, at := range []state.RunState{state.Scanning, state.Planning, state.Planned, state.Applying} {
				for flags := range 8 {
					cases++
					if unfinished.Num != 0 {
						unfinished.State = at
					}
					checkDecideUndoRun(t, UndoRunSituation{Undone: state.Run{Num: 3, State: undone}, Unfinished: unfinished,
						Unconfirmed: flags&1 != 0, Undoable: flags&2 != 0, Apply: flags&4 != 0})
				}
			}
		}
	}
	if cases != 6*5*4*8 {
		t.Errorf("looked at %d cases", cases)
	}
}

func checkDecideUndoRun(t *testing.T, s UndoRunSituation) {
	for _, l := range undoLaws() {
		if !l.holds(s) {
			continue
		}
		want := RunDecision{Step: l.shown, Why: l.why}
		if s.Apply {
			want = RunDecision{Step: l.applied, Why: l.appliedWhy}
		}
		if diff := cmp.Diff(want, DecideUndoRun(s)); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", s, diff)
		}
		return
	}
}
