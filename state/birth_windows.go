package state

import (
	"os"
	"syscall"
)

// birth tells a file from any copy of it, and stays the same for its life: here,
// when it was made. It is 0 where that is not known.
func birth(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	s, _ := info.Sys().(*syscall.Win32FileAttributeData)
	if s == nil {
		return 0
	}
	return s.CreationTime.Nanoseconds()
}
