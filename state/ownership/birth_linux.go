package ownership

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// birthOf reports by what a file is known from a copy of it: when it was made, 0 where
// the file system does not know.
func birthOf(f *os.File) int64 {
	s, err := statx(f)
	if err != nil || s.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
}

// changedAt is when anything of a file was last changed, which no user can set; zero if
// that is not known.
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
