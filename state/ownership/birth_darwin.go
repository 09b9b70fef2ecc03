package ownership

import (
	"os"
	"syscall"
	"time"
)

// birthOf returns a number that differs between a file and its copy: the inode number, which APFS
// does not reuse. The creation time is no such number, because a copy has it, too.
func birthOf(f *os.File) int64 {
	if s := stat(f); s != nil {
		return int64(s.Ino)
	}
	return 0
}

// changedAt returns the time of the last change of a file or its attributes, which no user can set,
// or zero if it is unknown.
func changedAt(f *os.File) time.Time {
	if s := stat(f); s != nil {
		return time.Unix(s.Ctimespec.Unix())
	}
	return time.Time{}
}

func stat(f *os.File) *syscall.Stat_t {
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	s, _ := info.Sys().(*syscall.Stat_t)
	return s
}
