package state

import (
	"os"

	"golang.org/x/sys/unix"
)

// birth tells a file from any copy of it, and stays the same for its life. It is 0
// where the file system does not know: here, it does not keep when a file was made.
func birth(f *os.File) int64 {
	var s unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &s)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
}
