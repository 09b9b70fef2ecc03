package migrate

import (
	"time"

	"assetferry/state"
)

// SyncCommand is the command of runs that keep a destination in step.
const SyncCommand = "sync"

// maxListingAge is the age up to which a run is resumed with the listing that it has.
const maxListingAge = 12 * time.Hour

// planCommand is the command that only shows what another one would do.
const planCommand = "plan"

// A RunStep is what a command does with the unfinished run of its source and destination.
type RunStep string

// The steps.
const (
	StepBegin     RunStep = "begin"     // a new run, in the place of what sent nothing so far
	StepResume    RunStep = "resume"    // the unfinished run as it is
	StepReplan    RunStep = "replan"    // the unfinished run with its listing and a new plan: it sent nothing so far
	StepRelist    RunStep = "relist"    // the unfinished run with a new listing and a new plan
	StepSupersede RunStep = "supersede" // a new run; the unfinished one ends, and what it did is kept
	StepRefuse    RunStep = "refuse"    // nothing: a person has to finish that run, or to give it up
	StepNothing   RunStep = "nothing"   // nothing: there is nothing to undo
)

// A RunReason says why a step is taken; it is empty where there is no more to say of it.
type RunReason string

// The reasons.
const (
	WhyRestart     RunReason = "restart"     // it was asked for
	WhyOtherRun    RunReason = "other_run"   // the unfinished run is of another command, or an undo
	WhyOtherPlan   RunReason = "other_plan"  // it carries out another approved plan
	WhyOtherRules  RunReason = "other_rules" // its rules differ
	WhyNews        RunReason = "news"        // a sync follows what changed since
	WhyStale       RunReason = "stale"       // what it planned must not be relied on; see state.Run
	WhyOldListing  RunReason = "old_listing" // its listing is older than maxListingAge
	WhyUnconfirmed RunReason = "unconfirmed" // it is not known of some objects what became of them
)

// A RunSituation is everything that it depends on with which run a command works. Runs of
// other sources are not among it: what they sent makes a run stale.
type RunSituation struct {
	Unfinished state.Run // the newest of the source and destination that is no mere plan; zero if there is none
	Command    string    // plan, migrate, adopt, sync or apply
	Rules      Rules
	PlanHash   string // of the approved plan that will be carried out; empty if it is none
	Restart    bool   // the user gives the unfinished run up
	Now        time.Time
}

// A RunDecision says with which run a command works, and why.
type RunDecision struct {
	Step        RunStep
	Why         RunReason
	Differences []string // of the rules, if they are why
}

// DecideRun says with which run a command works. It is a pure function. A plan always begins
// a run of its own; its reason is what has to be finished before that is carried out. The
// error says that the rules of the unfinished run cannot be read.
func DecideRun(s RunSituation) (RunDecision, error) {
	run := s.Unfinished
	sent, isSync := run.State == state.Applying, s.Command == SyncCommand
	otherRun, otherPlan := run.Command != s.Command, s.PlanHash != "" && run.PlanHash != s.PlanHash
	switch {
	case sent && s.Command == planCommand:
		return RunDecision{Step: StepBegin, Why: WhyOtherRun}, nil
	case run.Num == 0, s.Command == planCommand:
		return RunDecision{Step: StepBegin}, nil
	case !sent && run.Undoes != 0: // it undid nothing
		return RunDecision{Step: StepBegin}, nil
	case !sent && isSync && !otherRun: // what the source is like now counts
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
	case len(differences) > 0: // a plan made again loses nothing, and a scheduled sync must not wait for a person
		return RunDecision{Step: refuseIf(sent && !isSync), Why: WhyOtherRules, Differences: differences}, nil
	case isSync:
		return RunDecision{Step: StepRelist, Why: WhyNews}, nil
	case run.Stale:
		return RunDecision{Step: StepRelist, Why: WhyStale}, nil
	case s.Now.Sub(run.ListedAt) > maxListingAge:
		return RunDecision{Step: StepRelist, Why: WhyOldListing}, nil
	case run.State == state.Planned: // what kept it from being carried out may have been set right
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

// An UndoRunSituation is everything that it depends on how an undo begins.
type UndoRunSituation struct {
	Undone      state.Run // the run that will be undone
	Unfinished  state.Run // as in RunSituation
	Unconfirmed bool      // it is not known of some objects of Undone what became of them
	Undoable    int64     // objects that an undo would have to look at
	Apply       bool      // false: it is only shown
}

// DecideUndoRun says how an undo begins. It is a pure function. One that is only shown always
// begins a run of its own; its reason is what has to be finished before it is carried out.
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
	case s.Undoable == 0:
		return RunDecision{Step: StepNothing}
	case underWay && s.Unfinished.Num != s.Undone.Num:
		return RunDecision{Step: blocked, Why: WhyOtherRun}
	case s.Apply && s.Undone.Open():
		return RunDecision{Step: StepSupersede}
	}
	return RunDecision{Step: StepBegin}
}
