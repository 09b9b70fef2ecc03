package state

import (
	"errors"
)

// Errors that callers branch on.
var (
	ErrReadOnly = errors.New("opened for reading")
	ErrConflict = errors.New("the journal is not in the expected state")
	ErrForeign  = errors.New("not a journal of assetferry")
	ErrNewer    = errors.New("made by a newer version of assetferry")
	ErrOlder    = errors.New("made by a build of assetferry from before its first release, which this one cannot read")
	ErrNotFound = errors.New("not in the journal")
	ErrPruned   = errors.New("its items were deleted because it is too long ago")
)
