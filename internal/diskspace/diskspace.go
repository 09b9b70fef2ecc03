// Package diskspace returns the free space on a disk.
package diskspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Free returns the number of bytes that this process may write on the disk of the folder at path.
func Free(path string) (int64, error) {
	n, err := free(path)
	if err != nil {
		return 0, fmt.Errorf("free space at %s: %w", path, err)
	}
	return n, nil
}

// Nearest returns the folder of a path, or its first parent that exists.
func Nearest(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}
