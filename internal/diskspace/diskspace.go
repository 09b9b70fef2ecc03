// Package diskspace tells how much room there is for us on a disk.
package diskspace

import "fmt"

// Free returns how many bytes we may still write where the folder at path is.
func Free(path string) (int64, error) {
	n, err := free(path)
	if err != nil {
		return 0, fmt.Errorf("free space at %s: %w", path, err)
	}
	return n, nil
}
