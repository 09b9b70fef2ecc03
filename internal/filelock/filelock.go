// Package filelock locks a file for one process at a time. The operating system releases the lock
// when its holder dies, so a dead process never blocks another one and a live process cannot lose
// its lock.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// ErrLocked means that another process, or another Lock of this process, holds the file.
var ErrLocked = errors.New("locked by another process")

// A Lock is a held file.
type Lock struct{ f *os.File }

// Acquire takes the lock on the file at path, which it creates if needed and
// never removes: removing it would let two holders lock two different files.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Lock{f}, nil
}

// File returns the locked file, so that its holder can write to it.
func (l *Lock) File() *os.File { return l.f }

// Release releases the lock. It may be called once. Closing the file would not suffice: a child
// process that is being started also has the open file for an instant.
func (l *Lock) Release() error { return errors.Join(unlock(l.f), l.f.Close()) }
