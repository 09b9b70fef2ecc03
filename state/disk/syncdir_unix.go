//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes a rename in a directory durable, if the file system supports it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
