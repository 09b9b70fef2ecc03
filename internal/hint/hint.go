// Package hint adds the remedy to an error.
package hint

import "errors"

// An Error is an error with a hint. It may be the user's: a wrong flag, setting or argument.
type Error struct {
	err   error
	hint  string
	usage bool
}

// New returns an error with a hint.
func New(err error, hint string) error { return &Error{err, hint, false} }

// Usage is New for a wrong flag, setting or argument.
func Usage(err error, hint string) error { return &Error{err, hint, true} }

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error without the hint.
func (e *Error) Unwrap() error { return e.err }

// Hint returns the next step for the user; it may be empty.
func (e *Error) Hint() string { return e.hint }

// Of returns the hint of an error of any type that has one, or "".
func Of(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

// IsUsage reports whether a flag, a setting or an argument is wrong.
func IsUsage(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.usage
}
