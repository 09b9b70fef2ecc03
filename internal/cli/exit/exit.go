// Package exit holds the exit codes of assetferry, and what a person is told about an error:
// its class, and what to type next.
package exit

import (
	"errors"
	"io/fs"
	"syscall"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/config"
	"assetferry/internal/enrich"
	"assetferry/internal/flagname"
	"assetferry/internal/hint"
	"assetferry/internal/ratelimit"
	"assetferry/internal/sandbox/datadir"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/ownership"
)

// Exit codes. They are promises; every command's help lists them.
const (
	CodeDone        = 0
	CodeError       = 1
	CodeUsage       = 2
	CodeItems       = 3  // finished, but items failed, wait, changed, are in conflict or in doubt, or a plan says that they would, table rows are wrong, or files could not be rewritten
	CodeDifference  = 4  // verify found a difference
	CodeChanges     = 5  // plan --exit-code: there is something to do
	CodeSafetyCheck = 6  // a guard stopped the run, or it is not approved
	CodeLimit       = 7  // a budget or a time window ended the run
	CodeNoSuch      = 10 // no such run or state
	CodeInUse       = 11 // the state is in use
	CodeAuth        = 12 // authentication
	CodeInterrupted = 130
)

// Help lists the exit codes; the help of every command ends with it.
const Help = `Exit codes:
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

// ErrInterrupted is why a context ends when a person interrupts for the second
// time.
var ErrInterrupted = errors.New("interrupted")

// An Error ends a command with an exit code of its own. Its error is shown, unless
// it is nil: then everything has been said.
type Error struct {
	Code int
	err  error
	Hint string
}

func (s *Error) Error() string {
	if s.err == nil {
		return "stopped"
	}
	return s.err.Error()
}

func (s *Error) Unwrap() error { return s.err }

// IsSaid reports whether an error is nothing but an exit code, because everything has been
// said.
func IsSaid(err error) bool {
	s, ok := errors.AsType[*Error](err)
	return ok && s.err == nil
}

// Usage is a stop for a wrong flag, setting or argument.
func Usage(err error, hint string) error { return With(CodeUsage, err, hint) }

// With ends a command with an exit code, an error that is shown, and the next step.
func With(code int, err error, hint string) *Error { return &Error{code, err, hint} }

// Said ends a command with an exit code once everything has been said.
func Said(code int) *Error { return &Error{Code: code} }

// A Failure is what a person is told about an error.
type Failure struct {
	Code  int
	Class string
	Hint  string
}

// FailureOf finds the exit code, the class and the next step for an error.
func FailureOf(err error) Failure {
	f := Failure{Code: CodeError, Class: "error", Hint: HintOf(err)}
	if s, ok := errors.AsType[*Error](err); ok {
		return Failure{s.Code, Classes[s.Code], s.Hint}
	}
	if e, ok := errors.AsType[*hint.Error](err); ok {
		if f.Hint = e.Hint(); hint.IsUsage(err) {
			f.Code = CodeUsage
		}
		f.Class = Classes[f.Code]
		return f
	}
	switch {
	case errors.Is(err, migrate.ErrStopped), errors.Is(err, ErrInterrupted):
		f.Code, f.Hint = CodeInterrupted, "run the same command again to go on where it stopped"
	case errors.Is(err, ErrWindow):
		f.Code, f.Hint = CodeLimit, "run the same command again to go on where it stopped"
	case isLimit(err, &f.Hint):
		f.Code = CodeLimit
	case isSpent(err):
		f.Code = CodeLimit
		f.Hint = OrHint(f.Hint, "what was proposed so far is kept; run it again with more --max-credits to go on")
	case isAIAuth(err):
		f.Code, f.Hint = CodeAuth, OrHint(f.Hint, "check what opens the AI content service: assetferry help enrich")
	case errors.Is(err, enrich.ErrNoAudit):
		f.Hint = "assetferry enrich audit makes one"
	case assets.IsAuth(err), sources.IsAuth(err):
		f.Code, f.Hint = CodeAuth, OrHint(f.Hint, "check ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY, and that the access key belongs to the environment")
	case isEmptySource(err):
		f.Code, f.Hint = CodeSafetyCheck, sources.EmptyHint+"; if it is meant to be empty, there is nothing to do"
	case isSafetyCheck(err):
		f.Code = CodeSafetyCheck
	case isUsage(err):
		f.Code = CodeUsage
	case errors.Is(err, ownership.ErrInUse):
		f.Code, f.Hint = CodeInUse, OrHint(f.Hint, "wait until the other process is done; two at once would send everything twice")
	case errors.Is(err, ownership.ErrNotOwner):
		f.Code, f.Hint = CodeInUse, "leave it to that process; what was in flight here is looked up by the next run"
	case errors.Is(err, state.ErrNotFound):
		f.Code, f.Hint = CodeNoSuch, "assetferry status lists the runs of the journal"
	case errors.Is(err, state.ErrPruned):
		f.Code, f.Hint = CodeNoSuch, "keep_runs says how long the items of runs are kept; what it created is listed by urls --run, and can be trashed by hand"
	case errors.Is(err, state.ErrForeign):
		f.Hint = "name another file with --state, or if it was one: assetferry help state tells how to restore the backup; the file was left as it is"
	case errors.Is(err, state.ErrNewer):
		f.Hint = "use the version of assetferry that made it, or a later one; the file was left as it is"
	case errors.Is(err, state.ErrOlder):
		f.Hint = "move it away, or name another place with --state: what is at the destination already is found there and not sent again"
	case errors.Is(err, datadir.ErrInUse):
		f.Code, f.Hint = CodeInUse, "another process runs this sandbox: assetferry sandbox status --data DIR shows its address, and assetferry sandbox stop --data DIR ends it"
	}
	f.Class = Classes[f.Code]
	return f
}

// Classes are what programs call the exit codes in the error line of --json.
var Classes = map[int]string{
	CodeError: "error", CodeUsage: "usage", CodeSafetyCheck: "guard", CodeLimit: "budget", CodeNoSuch: "not_found",
	CodeInUse: "in-use", CodeAuth: "authentication", CodeInterrupted: "interrupted",
	CodeItems: "items", CodeDifference: "difference", CodeChanges: "changes",
}

func isEmptySource(err error) bool {
	_, ok := errors.AsType[*migrate.EmptySourceError](err)
	return ok
}

func isSafetyCheck(err error) bool {
	_, ok := errors.AsType[*migrate.SafetyCheckError](err)
	return ok
}

// isLimit reports whether the requests are used up, and until when.
func isLimit(err error, hint *string) bool {
	e, ok := errors.AsType[*ratelimit.RequestLimitError](err)
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

// HintOf finds the next step that an error itself knows.
func HintOf(err error) string {
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

// OrHint is a hint, or another one where there is none.
func OrHint(hint, otherwise string) string {
	if hint != "" {
		return hint
	}
	return otherwise
}

// Worse chooses between two exit codes: what a person has to know first.
func Worse(a, b int) int {
	for _, code := range []int{CodeInterrupted, CodeAuth, CodeError, CodeSafetyCheck, CodeLimit, CodeItems} {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}

// ErrWindow is why a run ends when its time is up.
var ErrWindow = errors.New("the time given to it is up")
