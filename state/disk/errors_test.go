package disk

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKindsOfTrouble(t *testing.T) {
	for _, tc := range []struct {
		err, want error
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, ErrUnwritable},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, ErrUnwritable},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, ErrFull},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, ErrDisk},
		{errors.New("else"), nil},
		{fs.ErrNotExist, nil},
	} {
		err := OpenError("state.db", tc.err)
		for _, kind := range []error{ErrFull, ErrUnwritable, ErrDamaged, ErrDisk} {
			if got := errors.Is(err, kind); got != (kind == tc.want) {
				t.Errorf("%v: is %v: %v", tc.err, kind, got)
			}
		}
		if !errors.Is(err, tc.err) {
			t.Errorf("%v does not tell its cause", err)
		}
	}
}
