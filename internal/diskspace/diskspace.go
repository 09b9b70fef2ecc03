// Package diskspace tells how much room there is for us on a disk.
package diskspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Free returns how many bytes we may still write where the folder at path is.
func Free(path string) (int64, error) {
	n, err := free(path)
	if err != nil {
		return 0, fmt.Errorf("free space at %s: %w", path, err)
	}
	return n, nil
}

// Nearest is the folder of a path, or the first above it that is there.
func Nearest(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}
