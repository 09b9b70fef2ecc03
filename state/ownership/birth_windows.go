package ownership

import (
	"os"
	"syscall"
	"time"
)

// birthOf returns a number that differs between a file and its copy: the creation time, or 0 if it
// is unknown.
func birthOf(f *os.File) int64 {
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

// changedAt returns zero: the time is unknown here.
func changedAt(*os.File) time.Time { return time.Time{} }
