//go:build linux || darwin || freebsd

package diskspace

import (
	"math"

	"golang.org/x/sys/unix"
)

func free(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, err
	}
	if blocks, size := uint64(s.Bavail), uint64(s.Bsize); size == 0 || blocks <= math.MaxInt64/size {
		return int64(blocks * size), nil
	}
	return math.MaxInt64, nil
}
