package ownership

import (
	"os"
	"syscall"
	"time"
)

// birthOf reports by what a file is known from a copy of it: its number, which APFS
// does not use again. When a file was made is copied with it.
func birthOf(f *os.File) int64 {
	if s := stat(f); s != nil {
		return int64(s.Ino)
	}
	return 0
}

// changedAt is when anything of a file was last changed, which no user can set; zero if
// that is not known.
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
