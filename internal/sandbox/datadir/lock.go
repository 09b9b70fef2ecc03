package datadir

import (
	"errors"
	"path/filepath"

	"assetferry/internal/filelock"
)

// ErrInUse says that another sandbox has the directory.
var ErrInUse = errors.New("in use by another sandbox")

// LockDir takes a directory for this process until unlock or the process ends.
func LockDir(dir string) (unlock func() error, err error) {
	lock, err := filelock.Acquire(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, ErrInUse
	} else if err != nil {
		return nil, err
	}
	return lock.Release, nil
}
