package sources

import (
	"errors"
	"io/fs"
	"strings"
)

// ErrChanged means that an object differs from the listed one.
var ErrChanged = errors.New("changed since it was listed")

// An Error is an error of a source or of one of its objects.
type Error struct {
	Op     string // "list", "open", "read", "read tags"
	Source string // its name, without secrets
	Key    Key    // "" if it concerns the source
	Err    error
	Hint   string // the next step for the user, or ""
}

func (e *Error) Error() string {
	s := e.Op + " " + e.Source
	if e.Key != "" {
		if !strings.HasSuffix(e.Source, "/") { // the name of a bucket ends with one
			s += ": "
		}
		s += string(e.Key)
	}
	return s + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Cause returns an error of a file without its path, which an [Error] contains.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// IsAuth reports whether an [Error] concerns the credentials of a source, or their permissions.
// Errors of adapters within it have a method of this name.
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

// EmptyHint is the next step for an empty listing.
const EmptyHint = "check that the disk or share is mounted, or that bucket and prefix are correct"
