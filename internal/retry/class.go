// Package retry classifies errors and repeats attempts.
//
// It is the only layer that retries within a request (seconds). The state database schedules the
// retries of an item (minutes and hours).
package retry

import (
	"errors"
	"time"
)

// A Class decides what follows an error. Its text is stored in state databases and printed as
// "class".
type Class string

const (
	// Transient errors are temporary: a lost connection, a 502.
	Transient Class = "transient"
	// Throttled errors ask for fewer requests.
	Throttled Class = "throttled"
	// Permanent errors concern one item and are the same at every attempt.
	Permanent Class = "permanent"
	// Fatal errors concern the whole run: wrong credentials, an exhausted quota.
	Fatal Class = "fatal"
)

// Repeatable reports whether another attempt is useful.
func (c Class) Repeatable() bool { return c == Transient || c == Throttled }

// Classified is implemented by errors with a class. Their optional method Delay() time.Duration
// returns the wait that the other side asked for, or 0.
type Classified interface {
	error
	Class() Class
}

// Classify returns the class of an error and the wait that was asked for. An error without a class
// is transient: attempts are limited, so a wrong guess costs little. Among joined errors, a fatal
// one counts, otherwise the first with a class.
func Classify(err error) (Class, time.Duration) {
	classified, ok := fatalIn(err)
	if !ok {
		classified, ok = errors.AsType[Classified](err)
	}
	if !ok {
		return Transient, 0
	}
	if d, ok := classified.(interface{ Delay() time.Duration }); ok {
		return classified.Class(), d.Delay()
	}
	return classified.Class(), 0
}

// fatalIn finds a fatal error in a tree of errors. A wrapped error counts only if the outer one has
// no class.
func fatalIn(err error) (Classified, bool) {
	switch e := err.(type) {
	case nil:
		return nil, false
	case Classified:
		return e, e.Class() == Fatal
	case interface{ Unwrap() []error }:
		for _, joined := range e.Unwrap() {
			if fatal, ok := fatalIn(joined); ok {
				return fatal, true
			}
		}
		return nil, false
	}
	return fatalIn(errors.Unwrap(err))
}
