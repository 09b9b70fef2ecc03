package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrInUse says that another sandbox has the directory.
var ErrInUse = errors.New("in use by another sandbox")

// lockDir takes a directory for this process until unlock or the process ends.
func lockDir(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), f.Close())
	}
	return f.Close, nil
}
