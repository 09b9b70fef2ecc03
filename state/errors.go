package state

import (
	"errors"
	"fmt"
	"time"
)

// Errors that callers branch on.
var (
	ErrReadOnly = errors.New("opened for reading")
	ErrNotOwner = errors.New("another process has taken over the journal")
	ErrConflict = errors.New("the journal is not in the expected state")
	ErrForeign  = errors.New("not a journal of assetferry")
	ErrNewer    = errors.New("made by a newer version of assetferry")
	ErrOlder    = errors.New("made by a build of assetferry from before its first release, which this one cannot read")
	ErrInUse    = errors.New("the journal is in use")
	ErrNotFound = errors.New("not in the journal")
	ErrPruned   = errors.New("its items were deleted because it is too long ago")
	ErrDistrust = errors.New("the journal is not as it was left here")
)

// An InUseError names the process that owns a journal. It is an ErrInUse.
type InUseError struct {
	Path      string
	Owner     Owner // zero if it could not be found out
	Elsewhere bool  // on another machine, so that nobody here knows whether it lives
}

func (e *InUseError) Error() string {
	if e.Owner == (Owner{}) {
		return fmt.Sprintf("the journal %s is in use by another process", e.Path)
	}
	if e.Elsewhere {
		return fmt.Sprintf("the journal %s was not closed by process %d on %s, which has it since %s",
			e.Path, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
	}
	return fmt.Sprintf("the journal %s is in use by process %d on %s since %s",
		e.Path, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
}

// Is makes every InUseError an ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Hint is the next step.
func (e *InUseError) Hint() string {
	if e.Elsewhere {
		return "if that process is still at work, let it end; if it is gone for good: assetferry state takeover"
	}
	return "wait until the other process is done; two at once would send everything twice"
}

// A DistrustError says why a journal is not what it was when it was last used here.
// It is an ErrDistrust.
type DistrustError struct {
	Path, Reason string
	// Touched says that it may just have been given another owner or permissions, as
	// happens daily where files are handed to the user of each run. It may be taken
	// over unasked by who will look for what it would send.
	Touched bool
}

func (e *DistrustError) Error() string {
	return fmt.Sprintf("the journal %s is not as it was left here: %s", e.Path, e.Reason)
}

// Is makes every DistrustError an ErrDistrust.
func (e *DistrustError) Is(target error) bool { return target == ErrDistrust }

// Hint is the next step.
func (e *DistrustError) Hint() string {
	return "see to it that no other process uses it, then: assetferry state takeover; what is at the destination already is found there and not sent again"
}
