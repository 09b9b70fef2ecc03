package datadir

import (
	"errors"
	"path/filepath"

	"assetferry/internal/filelock"
)

// ErrInUse reports that another sandbox uses the directory.
var ErrInUse = errors.New("in use by another sandbox")

// LockDir locks a directory until unlock is called or the process ends.
func LockDir(dir string) (unlock func() error, err error) {
	lock, err := filelock.Acquire(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, ErrInUse
	} else if err != nil {
		return nil, err
	}
	return lock.Release, nil
}
