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
	ErrInUse    = errors.New("the journal is in use")
	ErrNotFound = errors.New("not in the journal")
)

// An InUseError names the process that owns a journal. It is an ErrInUse.
type InUseError struct {
	Path  string
	Owner Owner // zero if it could not be found out
}

func (e *InUseError) Error() string {
	if e.Owner == (Owner{}) {
		return fmt.Sprintf("the journal %s is in use by another process", e.Path)
	}
	return fmt.Sprintf("the journal %s is in use by process %d on %s since %s",
		e.Path, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.DateTime))
}

// Is makes every InUseError an ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }
