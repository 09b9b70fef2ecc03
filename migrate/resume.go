package migrate

import (
	"time"

	"assetferry/state"
)

// SyncCommand is the command of runs that keep a destination up to date.
const SyncCommand = "sync"

// maxListingAge is the age up to which a run is resumed with its listing.
const maxListingAge = 12 * time.Hour

// planCommand is the command that shows the actions of another command.
const planCommand = "plan"

// A RunStep is the decision about the unfinished run of a source and destination.
type RunStep string

// The steps.
const (
	StepBegin     RunStep = "begin"     // a new run; the unfinished one uploaded nothing
	StepResume    RunStep = "resume"    // the unfinished run as it is
	StepReplan    RunStep = "replan"    // the unfinished run with its listing and a new plan: it uploaded nothing
	StepRelist    RunStep = "relist"    // the unfinished run with a new listing and a new plan
	StepSupersede RunStep = "supersede" // a new run; the unfinished one ends, its outcomes are kept
	StepRefuse    RunStep = "refuse"    // error: a person has to finish or give up that run
	StepNothing   RunStep = "nothing"   // nothing: there is nothing to undo
)

// A RunReason is the reason for a step; it is empty if none is needed.
type RunReason string

// The reasons.
const (
	WhyRestart     RunReason = "restart"     // the user requested it
	WhyOtherRun    RunReason = "other_run"   // the unfinished run has another command, or is an undo
	WhyOtherPlan   RunReason = "other_plan"  // it carries out another approved plan
	WhyOtherRules  RunReason = "other_rules" // its rules differ
	WhyNews        RunReason = "news"        // a sync follows the changes since
	WhyStale       RunReason = "stale"       // its plan must not be relied on; see state.Run
	WhyOldListing  RunReason = "old_listing" // its listing is older than maxListingAge
	WhyUnconfirmed RunReason = "unconfirmed" // the outcome of some objects is unknown
)

// A RunSituation holds all facts about which run a command uses. Runs of other sources are not
// among them: their uploads make a run stale.
type RunSituation struct {
	Unfinished state.Run // the newest of the source and destination that is more than a plan; zero if there is none
	Command    string    // plan, migrate, adopt, sync or apply
	Rules      Rules
	PlanHash   string // of the approved plan to apply; empty without one
	Restart    bool   // the user gives the unfinished run up
	Now        time.Time
}

// A RunDecision is the run that a command uses, and why.
type RunDecision struct {
	Step        RunStep
	Why         RunReason
	Differences []string // of the rules, if they are why
}

// DecideRun decides which run a command uses. It is a pure function. A plan always begins a run of
// its own; its reason names what has to be finished before it is applied. The error says that the
// rules of the unfinished run cannot be read.
func DecideRun(s RunSituation) (RunDecision, error) {
	run := s.Unfinished
	sent, isSync := run.State == state.Applying, s.Command == SyncCommand
	otherRun, otherPlan := run.Command != s.Command, s.PlanHash != "" && run.PlanHash != s.PlanHash
	switch {
	case sent && s.Command == planCommand:
		return RunDecision{Step: StepBegin, Why: WhyOtherRun}, nil
	case run.Num == 0, s.Command == planCommand:
		return RunDecision{Step: StepBegin}, nil
	case !sent && run.Undoes != 0: // it has undone nothing
		return RunDecision{Step: StepBegin}, nil
	case !sent && isSync && !otherRun: // only the current source counts
		return RunDecision{Step: StepBegin}, nil
	case s.Restart:
		return RunDecision{Step: StepSupersede, Why: WhyRestart}, nil
	case otherRun:
		return RunDecision{Step: refuseIf(sent), Why: WhyOtherRun}, nil
	case otherPlan:
		return RunDecision{Step: refuseIf(sent), Why: WhyOtherPlan}, nil
	}
	differences, err := s.Rules.Differences(run.Rules)
	switch {
	case err != nil:
		return RunDecision{}, err
	case len(differences) > 0: // a new plan loses nothing, and a scheduled sync must not wait for a person
		return RunDecision{Step: refuseIf(sent && !isSync), Why: WhyOtherRules, Differences: differences}, nil
	case isSync:
		return RunDecision{Step: StepRelist, Why: WhyNews}, nil
	case run.Stale:
		return RunDecision{Step: StepRelist, Why: WhyStale}, nil
	case s.Now.Sub(run.ListedAt) > maxListingAge:
		return RunDecision{Step: StepRelist, Why: WhyOldListing}, nil
	case run.State == state.Planned: // the problem that kept it from being applied may be fixed
		return RunDecision{Step: StepReplan}, nil
	}
	return RunDecision{Step: StepResume}, nil
}

// refuseIf refuses to give up a run that only a person may give up.
func refuseIf(personal bool) RunStep {
	if personal {
		return StepRefuse
	}
	return StepSupersede
}

// An UndoRunSituation holds all facts about how an undo begins.
type UndoRunSituation struct {
	Undone      state.Run // the run that will be undone
	Unfinished  state.Run // as in RunSituation
	Unconfirmed bool      // the outcome of some objects of Undone is unknown
	Undoable    bool      // an undo has something to look at
	Apply       bool      // false: it is only shown
}

// DecideUndoRun decides how an undo begins. It is a pure function. A preview always begins a run of
// its own; its reason names what has to be finished before it is applied.
func DecideUndoRun(s UndoRunSituation) RunDecision {
	blocked := StepBegin
	if s.Apply {
		blocked = StepRefuse
	}
	underWay := s.Unfinished.State == state.Applying
	switch {
	case s.Apply && underWay && s.Unfinished.Undoes == s.Undone.Num: // the rest may have been changed meanwhile
		return RunDecision{Step: StepRelist, Why: WhyNews}
	case s.Unconfirmed:
		return RunDecision{Step: blocked, Why: WhyUnconfirmed}
	case !s.Undoable:
		return RunDecision{Step: StepNothing}
	case underWay && s.Unfinished.Num != s.Undone.Num:
		return RunDecision{Step: blocked, Why: WhyOtherRun}
	case s.Apply && s.Undone.Open():
		return RunDecision{Step: StepSupersede}
	}
	return RunDecision{Step: StepBegin}
}
