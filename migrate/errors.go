package migrate

import (
	"errors"
	"fmt"

	"assetferry/internal/retry"
)

// HasClass reports whether there is an error, and it is of a class.
func HasClass(err error, class retry.Class) bool {
	got, _ := retry.Classify(err)
	return err != nil && got == class
}

// listsNothing begins what an EmptySourceError says.
const listsNothing = "the source lists nothing"

// An EmptySourceError says that a source from which objects have arrived lists
// none: it is rather not there than empty.
type EmptySourceError struct{ Known int64 }

func (e *EmptySourceError) Error() string {
	return fmt.Sprintf("%s, but objects of it have arrived before (%s)", listsNothing, Grouped(e.Known))
}

// A StateError is no item's fault: a run without its journal must stop.
type StateError struct{ err error }

// NewStateError makes one of an error of the state database.
func NewStateError(err error) error { return &StateError{err} }

func (e *StateError) Error() string { return e.err.Error() }

func (e *StateError) Unwrap() error { return e.err }

func (e *StateError) Class() retry.Class { return retry.Fatal }

func IsStateError(err error) bool {
	_, is := errors.AsType[*StateError](err)
	return is
}
