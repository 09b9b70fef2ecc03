package ownership

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// birthOf returns a number that differs between a file and its copy: the creation time, or 0 if the
// file system does not record it.
func birthOf(f *os.File) int64 {
	s, err := statx(f)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
}

// changedAt returns the time of the last change of a file or its attributes, which no user can set,
// or zero if it is unknown.
func changedAt(f *os.File) time.Time {
	s, err := statx(f)
	if err != nil || s.Mask&unix.STATX_CTIME == 0 {
		return time.Time{}
	}
	return time.Unix(s.Ctime.Sec, int64(s.Ctime.Nsec))
}

func statx(f *os.File) (s unix.Statx_t, err error) {
	err = unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME|unix.STATX_CTIME, &s)
	return s, err
}
