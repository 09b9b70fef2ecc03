package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const logFlag = "--log-file"

// OpenLog opens a file for appending, and creates it if it is missing. It does not follow a
// symbolic link at the end of the path. It refuses files other than regular files and character
// devices such as /dev/null, files of other accounts, and a hard link in a folder that others can
// write: it may be any file of ours. All checks use the opened file. It removes the permissions of
// others from our file.
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
		return false, &Error{path, fmt.Sprintf("is open to other accounts, and the change failed: %v", err), "use another file with " + logFlag}
	}
	return true, nil
}

// judgeLog returns an error for an opened file that must not be used. If accounts are unknown, only
// its type counts.
func (me Account) judgeLog(path string, a, folder Access, known bool) error {
	switch {
	case a.Mode&fs.ModeCharDevice != 0:
		return nil // such a device stores nothing
	case !a.Mode.IsRegular():
		return notALog(path)
	case !known:
		return nil
	case !me.owns(a):
		return foreign(path, logFlag, a)
	case a.Links > 1 && me.mayReplace(folder) != "":
		return &Error{path, "has several hard links, in a folder that other accounts can write, so it may be another file of yours", "move it away, or use another file with " + logFlag}
	}
	return nil
}

func notALog(path string) error {
	return &Error{path, "is not a regular file", "use a file with " + logFlag + ", or /dev/stderr"}
}

// refuseLog returns the error for a log file that could not be opened.
func refuseLog(path string, err error) error {
	info, lerr := os.Lstat(path)
	switch {
	case lerr != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		try := "use a file with " + logFlag
		if to, err := filepath.EvalSymlinks(path); err == nil {
			try = "use its target: " + logFlag + " " + to
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
