// Package exit defines the exit codes of assetferry, and finds the code, the class and the hint of
// an error.
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
	"assetferry/internal/wordpress"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/ownership"
)

// Exit codes. They are stable; the help of every command lists them.
const (
	CodeDone        = 0
	CodeError       = 1
	CodeUsage       = 2
	CodeItems       = 3  // finished, but items need attention, or a plan has such items, table rows are invalid, or files were not rewritten
	CodeDifference  = 4  // verify found a difference
	CodeChanges     = 5  // plan --exit-code: the plan has changes
	CodeSafetyCheck = 6  // a safety check stopped the run, or it is not approved
	CodeLimit       = 7  // a request limit, a credit limit or a time window ended the run
	CodeNoSuch      = 10 // no such run or state
	CodeInUse       = 11 // the state is in use
	CodeAuth        = 12 // authentication
	CodeInterrupted = 130
)

// ErrInterrupted is the cause of a context that the second interrupt ends.
var ErrInterrupted = errors.New("interrupted")

// An Error ends a command with an exit code of its own. Its error is printed, unless it is nil.
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

// IsSaid reports whether an error is only an exit code: the output has the details already.
func IsSaid(err error) bool {
	s, ok := errors.AsType[*Error](err)
	return ok && s.err == nil
}

// Usage returns the error for a wrong flag, setting or argument.
func Usage(err error, hint string) error { return With(CodeUsage, err, hint) }

// With returns an error with an exit code and a hint.
func With(code int, err error, hint string) *Error { return &Error{code, err, hint} }

// Said returns an error that is only an exit code.
func Said(code int) *Error { return &Error{Code: code} }

// A resumable is an error that ended a run before it was finished.
type resumable struct {
	error
	command string // that resumes the run
}

func (r *resumable) Unwrap() error { return r.error }

// Resumable adds the command that resumes a run to the error that ended it. Errors with a more
// specific hint keep that.
func Resumable(err error, command string) error { return &resumable{err, command} }

// A Failure describes an error to people and programs.
type Failure struct {
	Code    int
	Class   string
	Hint    string
	Resumes bool // the hint only resumes the run; the error needs no remedy
}

// resumeHint is the hint of errors that need no remedy.
const resumeHint = "run the same command again to resume"

// FailureOf returns the exit code, the class and the hint of an error.
func FailureOf(err error) Failure {
	f := failureOf(err)
	r, ok := errors.AsType[*resumable](err)
	if f.Resumes = ok && (f.Hint == "" || f.Hint == resumeHint); f.Resumes {
		f.Hint = "resume the run:\n  " + r.command
	}
	return f
}

func failureOf(err error) Failure {
	f := Failure{Code: CodeError, Class: "error", Hint: HintOf(err)}
	if s, ok := errors.AsType[*Error](err); ok {
		return Failure{Code: s.Code, Class: Classes[s.Code], Hint: s.Hint}
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
		f.Code, f.Hint = CodeInterrupted, resumeHint
	case errors.Is(err, ErrWindow):
		f.Code, f.Hint = CodeLimit, resumeHint
	case isLimit(err, &f.Hint):
		f.Code = CodeLimit
	case isSpent(err):
		f.Code = CodeLimit
		f.Hint = OrHint(f.Hint, "the proposals so far are kept; to continue, run the same command again with a higher --max-credits")
	case isAIAuth(err):
		f.Code, f.Hint = CodeAuth, OrHint(f.Hint, "check the credentials of the AI content service (see assetferry help enrich)")
	case wordpress.IsAuth(err):
		f.Code = CodeAuth
	case errors.Is(err, enrich.ErrNoAudit):
		f.Hint = "run the audit first:\n  assetferry enrich audit"
	case assets.IsAuth(err), sources.IsAuth(err):
		f.Code, f.Hint = CodeAuth, OrHint(f.Hint, "check ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY, and that the access key belongs to the environment")
	case isEmptySource(err):
		f.Code, f.Hint = CodeSafetyCheck, sources.EmptyHint+"; if it is empty on purpose, there is nothing to do"
	case isSafetyCheck(err), isWaveOverlap(err):
		f.Code = CodeSafetyCheck
	case isUsage(err):
		f.Code = CodeUsage
	case errors.Is(err, ownership.ErrInUse):
		f.Code, f.Hint = CodeInUse, OrHint(f.Hint, "wait until the other process ends; two at once would upload everything twice")
	case errors.Is(err, ownership.ErrNotOwner):
		f.Code, f.Hint = CodeInUse, "leave it to that process; the next run checks the uploads that were in progress here"
	case errors.Is(err, state.ErrNotFound):
		f.Code, f.Hint = CodeNoSuch, "list the runs of the state database:\n  assetferry runs"
	case errors.Is(err, state.ErrPruned):
		f.Code, f.Hint = CodeNoSuch, "keep_runs limits how long the items of runs are kept. Trash the assets by hand; to list those that the run created:\n  assetferry urls --run ID"
	case errors.Is(err, state.ErrForeign):
		f.Hint = "name another file with --state, or restore the backup of the state database (see assetferry help state). The file was not changed"
	case errors.Is(err, state.ErrNewer):
		f.Hint = "use the version of assetferry that wrote it, or a later one. The file was not changed"
	case errors.Is(err, datadir.ErrInUse):
		f.Code, f.Hint = CodeInUse, "another process runs this sandbox. To show its URL, or to stop it:\n  assetferry sandbox status --data DIR\n  assetferry sandbox stop --data DIR"
	}
	f.Class = Classes[f.Code]
	return f
}

// Classes are the names of the exit codes in the error line of --json.
var Classes = map[int]string{
	CodeError: "error", CodeUsage: "usage", CodeSafetyCheck: "safety_check", CodeLimit: "limit", CodeNoSuch: "not_found",
	CodeInUse: "in_use", CodeAuth: "authentication", CodeInterrupted: "interrupted",
	CodeItems: "items", CodeDifference: "difference", CodeChanges: "changes",
}

func isEmptySource(err error) bool {
	_, ok := errors.AsType[*migrate.EmptySourceError](err)
	return ok
}

func isWaveOverlap(err error) bool {
	_, ok := errors.AsType[*migrate.WaveOverlapError](err)
	return ok
}

func isSafetyCheck(err error) bool {
	_, ok := errors.AsType[*migrate.SafetyCheckError](err)
	return ok
}

// isLimit reports whether the request limit ended a run, and sets the hint to the time that it
// can be resumed.
func isLimit(err error, hint *string) bool {
	e, ok := errors.AsType[*ratelimit.RequestLimitError](err)
	if ok {
		*hint = e.Hint()
	}
	return ok
}

// isSpent reports whether the credits of the service or of the run are used up.
func isSpent(err error) bool {
	return errors.Is(err, enrich.ErrCreditLimit) || errors.Is(err, ai.ErrCredits)
}

func isAIAuth(err error) bool {
	e, ok := errors.AsType[*ai.Error](err)
	return ok && e.IsAuth()
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*config.UsageError](err)
	return ok
}

// HintOf returns the hint that an error itself has.
func HintOf(err error) string {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		if e.Hint == "" && errors.Is(err, fs.ErrNotExist) {
			return "check the path, and that the disk is mounted"
		}
		return e.Hint
	}
	var remedied interface{ Remedy() string } // errors of the engine name settings, not flags
	if errors.As(err, &remedied) {
		return flagname.InText(remedied.Remedy())
	}
	if next := hint.Of(err); next != "" {
		return next
	}
	if e, ok := errors.AsType[*config.UsageError](err); ok {
		return e.Hint
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		return "give this user access to " + e.Path + ", or name another path"
	}
	if errors.Is(err, syscall.ENOSPC) {
		return "free space on that disk, then run the same command again"
	}
	return ""
}

// OrHint returns the hint, or otherwise if it is empty.
func OrHint(hint, otherwise string) string {
	if hint != "" {
		return hint
	}
	return otherwise
}

// Worse returns the more important of two exit codes.
func Worse(a, b int) int {
	for _, code := range []int{CodeInterrupted, CodeAuth, CodeError, CodeSafetyCheck, CodeLimit, CodeItems} {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}

// ErrWindow ends a run at the end of its time window.
var ErrWindow = errors.New("the time window has ended")
