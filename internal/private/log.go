package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const logFlag = "--log-file"

// OpenLog opens a file to append to, and makes it if it is not there. It follows no
// symbolic link at the end of the path, and refuses what is neither a file nor a character
// device such as /dev/null, a file of another account, and one with a second name in a
// folder that others may write: that may be any file of ours. All of that is asked of the
// file that was opened. A file of ours that is open to others is closed to them.
func OpenLog(path string) (f *os.File, repaired bool, err error) {
	f, err = openNoFollow(path)
	if err != nil {
		return nil, false, refuseLog(path, err)
	}
	if repaired, err = secureLog(f, path); err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return f, repaired, nil
}

func secureLog(f *os.File, path string) (repaired bool, err error) {
	a, known, err := accessOf(f.Stat())
	if err != nil {
		return false, err
	}
	folder, _, err := stat(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	if err := me().judgeLog(path, a, folder, known); err != nil {
		return false, err
	}
	if !known || !a.Mode.IsRegular() || a.Mode.Perm()&others == 0 {
		return false, nil
	}
	if err := f.Chmod(a.Mode.Perm() &^ others); err != nil {
		return false, &Error{path, fmt.Sprintf("is open to other accounts, and that cannot be changed: %v", err), "name another file with " + logFlag}
	}
	return true, nil
}

// judgeLog says why a file that was opened must not be appended to. Where accounts are not
// known, only its kind counts.
func (me Account) judgeLog(path string, a, folder Access, known bool) error {
	switch {
	case a.Mode&fs.ModeCharDevice != 0:
		return nil // keeps nothing
	case !a.Mode.IsRegular():
		return notALog(path)
	case !known:
		return nil
	case !me.owns(a):
		return foreign(path, logFlag, a)
	case a.Links > 1 && me.mayReplace(folder) != "":
		return &Error{path, "has a second name, in a folder that other accounts can write, so it may be another file of yours", "move it away, or name another file with " + logFlag}
	}
	return nil
}

func notALog(path string) error {
	return &Error{path, "is not a file to append to", "name a file with " + logFlag + ", or /dev/stderr"}
}

// refuseLog explains why a log file could not be opened.
func refuseLog(path string, err error) error {
	info, lerr := os.Lstat(path)
	switch {
	case lerr != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		try := "name a file with " + logFlag
		if to, err := filepath.EvalSymlinks(path); err == nil {
			try = "name the file that it leads to: " + logFlag + " " + to
		}
		return &Error{path, "is a symbolic link, which is not followed", try}
	case !info.Mode().IsRegular():
		return notALog(path)
	}
	if a, known, err := lstat(path); err == nil && known && !me().owns(a) {
		return foreign(path, logFlag, a)
	}
	return err
}
