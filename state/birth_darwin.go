package state

import (
	"os"
	"syscall"
)

// birth tells a file from any copy of it, and stays the same for its life: here,
// its number, which APFS does not use again. When a file was made is copied with it.
func birth(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	s, _ := info.Sys().(*syscall.Stat_t)
	if s == nil {
		return 0
	}
	return int64(s.Ino)
}
