package migrate

import (
	"errors"
	"fmt"

	"assetferry/internal/retry"
)

// HasClass reports whether err is not nil and of the given class.
func HasClass(err error, class retry.Class) bool {
	got, _ := retry.Classify(err)
	return err != nil && got == class
}

// listsNothing begins the message of an EmptySourceError.
const listsNothing = "the source is empty"

// An EmptySourceError means that a source lists no objects, although some were uploaded before: it
// is probably not mounted.
type EmptySourceError struct {
	Known int64
	Wave  string // only the objects of this wave are missing; empty: all
}

func (e *EmptySourceError) Error() string {
	verb := "were"
	if e.Known == 1 {
		verb = "was"
	}
	where := listsNothing
	if e.Wave != "" {
		where += " in wave " + e.Wave
	}
	return fmt.Sprintf("%s, but %s of its objects %s uploaded before", where, Grouped(e.Known), verb)
}

// A stateError concerns no item: a run without its state database must stop.
type stateError struct{ err error }

// NewStateError marks an error of the state database, which ends the run: its class is fatal.
func NewStateError(err error) error { return &stateError{err} }

func (e *stateError) Error() string { return e.err.Error() }

func (e *stateError) Unwrap() error { return e.err }

func (e *stateError) Class() retry.Class { return retry.Fatal }

// IsStateError reports whether an error was marked by [NewStateError].
func IsStateError(err error) bool {
	_, is := errors.AsType[*stateError](err)
	return is
}
