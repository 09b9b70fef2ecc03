// Package retry says which errors are worth another try, and paces the tries.
//
// It is the one layer of retries within a request (seconds). Attempts at an item
// (minutes and hours) live in the journal.
package retry

import (
	"errors"
	"time"
)

// A Class says what an error means for what comes next. Its text is stored in
// journals and printed as "class".
type Class string

const (
	// Transient errors go away by themselves: a cut connection, a 502.
	Transient Class = "transient"
	// Throttled says that the other side wants us to slow down.
	Throttled Class = "throttled"
	// Permanent errors concern this one item and come again on every try.
	Permanent Class = "permanent"
	// Fatal errors concern the whole run: bad credentials, quota used up.
	Fatal Class = "fatal"
)

// Repeatable reports whether another try makes sense.
func (c Class) Repeatable() bool { return c == Transient || c == Throttled }

// Classified is what errors implement that know their class. If they also have
// a method Delay() time.Duration, it is how long the other side asked us to
// wait, 0 if it did not.
type Classified interface {
	error
	Class() Class
}

// Classify returns the class of an error and the wait that was asked for. An
// error that does not say is transient: tries are limited, lost work is not. Of
// joined errors a fatal one counts, wherever it is, and else the first that says.
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

// fatalIn finds a fatal error in a tree of errors. What an error wraps counts only
// if it does not say its class itself.
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
