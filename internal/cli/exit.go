package cli

import (
	"errors"
	"io/fs"
	"syscall"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/config"
	"assetferry/internal/enrich"
	"assetferry/internal/event"
	"assetferry/internal/flagname"
	"assetferry/internal/hint"
	"assetferry/internal/pace"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/ownership"
)

// Exit codes. They are promises; every command's help lists them.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitItems       = 3  // finished, but items failed, wait, changed, are in conflict or in doubt, or a plan says that they would, table rows are wrong, or files could not be rewritten
	exitDifference  = 4  // verify found a difference
	exitChanges     = 5  // plan --exit-code: there is something to do
	exitGuard       = 6  // a guard stopped the run, or it is not approved
	exitBudget      = 7  // a budget or a time window ended the run
	exitNoSuch      = 10 // no such run or state
	exitInUse       = 11 // the state is in use
	exitAuth        = 12 // authentication
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
    0  done
    1  error
    2  usage: a flag, a setting or an argument is wrong
    3  finished, but items failed, wait, changed, are in conflict or in doubt;
       a plan has conflicts, or objects that cannot be read;
       or rows of the metadata table are wrong, or files could not be rewritten
    4  verification found a difference
    5  the plan has changes (plan --exit-code)
    6  stopped by a guard, such as extensions that no category allows; or not
       approved
    7  stopped by a budget or a time window; run again to go on
   10  no such run or state
   11  the state is in use by another process
   12  authentication
  130  interrupted
`

// errInterrupted is why a context ends when a person interrupts for the second
// time.
var errInterrupted = errors.New("interrupted")

// A stop ends a command with an exit code of its own. Its error is shown, unless
// it is nil: then everything has been said.
type stop struct {
	code int
	err  error
	hint string
}

func (s *stop) Error() string {
	if s.err == nil {
		return "stopped"
	}
	return s.err.Error()
}

func (s *stop) Unwrap() error { return s.err }

// isSaid reports whether an error is nothing but an exit code, because everything has been
// said.
func isSaid(err error) bool {
	s, ok := errors.AsType[*stop](err)
	return ok && s.err == nil
}

// usage is a stop for a wrong flag, setting or argument.
func usage(err error, hint string) error { return with(exitUsage, err, hint) }

// with ends a command with an exit code, an error that is shown, and the next step.
func with(code int, err error, hint string) *stop { return &stop{code, err, hint} }

// said ends a command with an exit code once everything has been said.
func said(code int) *stop { return &stop{code: code} }

// A failure is what a person is told about an error.
type failure struct {
	code  int
	class string
	hint  string
}

// failureOf finds the exit code, the class and the next step for an error.
func failureOf(err error) failure {
	f := failure{code: exitError, class: "error", hint: hintOf(err)}
	if s, ok := errors.AsType[*stop](err); ok {
		return failure{s.code, classes[s.code], s.hint}
	}
	if e, ok := errors.AsType[*hint.Error](err); ok {
		if f.hint = e.Hint(); hint.IsUsage(err) {
			f.code = exitUsage
		}
		f.class = classes[f.code]
		return f
	}
	switch {
	case errors.Is(err, migrate.ErrStopped), errors.Is(err, errInterrupted):
		f.code, f.hint = exitInterrupted, "run the same command again to go on where it stopped"
	case errors.Is(err, errWindow):
		f.code, f.hint = exitBudget, "run the same command again to go on where it stopped"
	case isBudget(err, &f.hint):
		f.code = exitBudget
	case isSpent(err):
		f.code = exitBudget
		f.hint = orHint(f.hint, "what was proposed so far is kept; run it again with more --max-credits to go on")
	case isAIAuth(err):
		f.code, f.hint = exitAuth, orHint(f.hint, "check what opens the AI content service: assetferry help enrich")
	case errors.Is(err, enrich.ErrNoSurvey):
		f.hint = "assetferry enrich survey makes one"
	case assets.IsAuth(err), sources.IsAuth(err):
		f.code, f.hint = exitAuth, orHint(f.hint, "check ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY, and that the access key belongs to the environment")
	case isEmptySource(err):
		f.code, f.hint = exitGuard, sources.EmptyHint+"; if it is meant to be empty, there is nothing to do"
	case isGuard(err):
		f.code = exitGuard
	case isUsage(err):
		f.code = exitUsage
	case errors.Is(err, ownership.ErrInUse):
		f.code, f.hint = exitInUse, orHint(f.hint, "wait until the other process is done; two at once would send everything twice")
	case errors.Is(err, ownership.ErrNotOwner):
		f.code, f.hint = exitInUse, "leave it to that process; what was in flight here is looked up by the next run"
	case errors.Is(err, state.ErrNotFound):
		f.code, f.hint = exitNoSuch, "assetferry status lists the runs of the journal"
	case errors.Is(err, state.ErrPruned):
		f.code, f.hint = exitNoSuch, "keep_runs says how long the items of runs are kept; what it created is listed by urls --run, and can be trashed by hand"
	case errors.Is(err, state.ErrForeign):
		f.hint = "name another file with --state, or if it was one: assetferry help journal tells how to restore the backup; the file was left as it is"
	case errors.Is(err, state.ErrNewer):
		f.hint = "use the version of assetferry that made it, or a later one; the file was left as it is"
	case errors.Is(err, state.ErrOlder):
		f.hint = "move it away, or name another place with --state: what is at the destination already is found there and not sent again"
	case errors.Is(err, sandbox.ErrInUse):
		f.code, f.hint = exitInUse, "another process runs this sandbox: assetferry sandbox status --data DIR shows its address, and assetferry sandbox stop --data DIR ends it"
	}
	f.class = classes[f.code]
	return f
}

var classes = map[int]string{
	exitError: "error", exitUsage: "usage", exitGuard: "guard", exitBudget: "budget", exitNoSuch: "no-such-run-or-state",
	exitInUse: "in-use", exitAuth: "authentication", exitInterrupted: "interrupted",
	exitItems: "items", exitDifference: "difference", exitChanges: "changes",
}

func isEmptySource(err error) bool {
	_, ok := errors.AsType[*migrate.EmptySourceError](err)
	return ok
}

func isGuard(err error) bool {
	_, ok := errors.AsType[*migrate.GuardError](err)
	return ok
}

// isBudget reports whether the requests are used up, and until when.
func isBudget(err error, hint *string) bool {
	e, ok := errors.AsType[*pace.BudgetError](err)
	if ok {
		*hint = e.Hint()
	}
	return ok
}

// isSpent reports whether the credits are used up: those of the service, or those that a run
// may spend.
func isSpent(err error) bool {
	return errors.Is(err, enrich.ErrBudget) || errors.Is(err, ai.ErrCredits)
}

func isAIAuth(err error) bool {
	e, ok := errors.AsType[*ai.Error](err)
	return ok && e.IsAuth()
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*config.UsageError](err)
	return ok
}

// hintOf finds the next step that an error itself knows.
func hintOf(err error) string {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		if e.Hint == "" && errors.Is(err, fs.ErrNotExist) {
			return "check the path; is the disk mounted?"
		}
		return e.Hint
	}
	var remedied interface{ Remedy() string } // of the engine, which names settings and no flags
	if errors.As(err, &remedied) {
		return flagname.InText(remedied.Remedy())
	}
	var hinter interface{ Hint() string }
	if errors.As(err, &hinter) {
		return hinter.Hint()
	}
	if e, ok := errors.AsType[*config.UsageError](err); ok {
		return e.Hint
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return "let this user read and write " + e.Path + ", or name another place"
	}
	if errors.Is(err, syscall.ENOSPC) {
		return "make space on that disk, then run the same command again"
	}
	return ""
}

func orHint(hint, otherwise string) string {
	if hint != "" {
		return hint
	}
	return otherwise
}

// report tells a person why a command ended and gives its exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	f := failureOf(err)
	if isSaid(err) {
		return f.code
	}
	if f.code == exitUsage {
		f.hint = orHint(f.hint, a.command+" --help")
	}
	line := event.Error{Class: f.class, Message: err.Error(), Hint: f.hint}
	a.out.Fail(line)
	if a.publisher != nil {
		a.publisher.Fail(line, f.code == exitGuard)
	}
	return f.code
}

// worse chooses between two exit codes: what a person has to know first.
func worse(a, b int) int {
	for _, code := range []int{exitInterrupted, exitAuth, exitError, exitGuard, exitBudget, exitItems} {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}
