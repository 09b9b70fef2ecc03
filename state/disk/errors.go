// Package disk contains the parts of a state database that concern the disk: the names of its
// files, how to create them so that they survive a power cut, and disk errors by the possible
// remedy.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors of disks and files.
var (
	ErrFull       = errors.New("no space left for the state database")
	ErrUnwritable = errors.New("the state database cannot be written")
	ErrDamaged    = errors.New("the state database is damaged")
	ErrDisk       = errors.New("the disk of the state database reports an error")

	// ErrEmptied is an ErrDamaged: something truncated the file to 0 bytes.
	ErrEmptied = fmt.Errorf("%w: it was cut to 0 bytes", ErrDamaged)

	// An ErrDamaged may wrap one of these reasons: pages have changed, or their checksums have.
	ErrChangedPages = errors.New("the disk may have changed a bit, or another program, such as sqlite3, wrote to it or opened it after a run was killed")
	ErrBadSums      = errors.New("the stored checksums of its pages are damaged")
)

// An Error is an error of the file of the state database. It is one of ErrFull, ErrUnwritable,
// ErrDamaged, ErrEmptied and ErrDisk, if the kind is known.
type Error struct {
	Kind error // one of the five
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %v", e.Kind, e.Err) }

func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Hint returns the next step for the user.
func (e *Error) Hint() string {
	switch e.Kind {
	case ErrFull:
		return "free space on that disk, then run the same command again: nothing is lost, and uploads in progress are checked"
	case ErrUnwritable:
		return "let this user write the file and its folder, or name another file with --state"
	case ErrEmptied:
		return "restore the backup. Without a backup, delete the empty file: a new state database is created, and existing assets are found and not uploaded again (see assetferry help state)"
	case ErrDisk:
		return "check the system log for errors of that disk or share; when it works, run the same command again: nothing is lost, and uploads in progress are checked"
	}
	if errors.Is(e.Err, ErrChangedPages) || errors.Is(e.Err, ErrBadSums) {
		return "restore the backup (see assetferry help state); the file was not changed. If you restored the backup already, or opened the file with another program, take over the state database instead:\n  assetferry state takeover"
	}
	return "restore the backup (see assetferry help state); the file was not changed"
}

// Classify wraps an error of the driver or the file system in an Error if a person can do something
// about it.
func Classify(err error) error {
	if kind := KindOf(err); kind != nil {
		return &Error{Kind: kind, Err: err}
	}
	return err
}

// KindOf returns the kind of such an error, or nil for other errors and for an Error.
func KindOf(err error) error {
	if _, known := errors.AsType[*Error](err); known {
		return nil
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return ErrFull
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return ErrUnwritable
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrDamaged
		case sqlite3.SQLITE_IOERR:
			return ErrDisk
		}
		return nil
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrUnwritable
	case errors.Is(err, syscall.EIO):
		return ErrDisk
	}
	return nil
}

// OpenError is an error of the file system on the way to a state database.
func OpenError(path string, err error) error {
	return fmt.Errorf("open state database %s: %w", path, Classify(err))
}
