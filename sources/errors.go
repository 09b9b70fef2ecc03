package sources

import (
	"errors"
	"strings"
)

// ErrChanged says that an object is not the one that was listed any more.
var ErrChanged = errors.New("changed since it was listed")

// An Error tells what went wrong at a source, and with which object.
type Error struct {
	Op     string // "list", "open", "read", "read tags"
	Source string // where, without secrets
	Key    Key    // empty if it is about the source as a whole
	Err    error
	Hint   string // the next step for a person; may be empty
}

func (e *Error) Error() string {
	s := e.Op + " " + e.Source
	if e.Key != "" {
		if !strings.HasSuffix(e.Source, "/") { // as a bucket's address has it
			s += ": "
		}
		s += string(e.Key)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// IsAuth reports whether an [Error] is about what opens a source, or about what that allows.
// The errors of adapters within it say so by a method of this name.
func IsAuth(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	cause, ok := errors.AsType[interface {
		error
		IsAuth() bool
	}](e.Err)
	return ok && cause.IsAuth()
}

// EmptyHint is what to look at where a source lists nothing.
const EmptyHint = "see that the disk or share is mounted, or that bucket and prefix are the right ones"
