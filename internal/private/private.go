// Package private keeps files private to the account of this process. It removes the permissions of
// other accounts from our files, and refuses files that other accounts could have written.
//
// A file is checked by its path, in a folder in which only we and root can rename or create files.
// So no other account can replace the file between the check and its use. SQLite opens its files by
// path, several times, so a check of a descriptor would not help. Log files are opened once, by
// OpenLog, which checks the descriptor in any folder.
//
// Only the folder itself is checked, not its parents. An account that can rename in a parent can
// replace the folder, but not by one that we own.
//
// On Windows, nothing is checked, because files inherit the permissions of the folder.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"assetferry/internal/shell"
)

// An Error is the reason why a file is refused, with the next step.
type Error struct{ Path, Reason, Try string }

func (e *Error) Error() string { return e.Path + " " + e.Reason }

// Hint returns the next step.
func (e *Error) Hint() string { return e.Try }

// An Access is the owner, the group and the permissions of a file.
type Access struct {
	Owner, Group int
	Mode         fs.FileMode
	Links        int
}

// An Account is the user and the group of a process.
type Account struct{ User, Group int }

// others are the permissions of all accounts except the owner.
const (
	others        fs.FileMode = 0o077
	groupWrite    fs.FileMode = 0o020
	everyoneWrite fs.FileMode = 0o002
)

// owns reports whether the account owns a file or folder.
func (me Account) owns(a Access) bool { return a.Owner == me.User }

// mayReplace returns who else can rename and create files in a folder, or "" if only the account
// and root can. A group with the number of the account has no other members by convention. The
// sticky bit does not protect a database: another account could create files that SQLite reads
// beside it.
func (me Account) mayReplace(folder Access) string {
	switch {
	case !me.owns(folder) && folder.Owner != 0:
		return "belongs to " + accountName(folder.Owner)
	case folder.Mode&everyoneWrite != 0:
		return "is writable by all accounts"
	case folder.Mode&groupWrite != 0 && folder.Group != 0 && (folder.Group != me.User || folder.Group != me.Group):
		return "is writable by " + groupName(folder.Group)
	}
	return ""
}

var errNoFolder = errors.New("not a folder")

// Folder returns an error for a folder in which another account could replace files. The hint names
// instead, in a new folder of this account.
func Folder(dir, instead string) error {
	a, known, err := stat(dir)
	if err != nil || !known {
		return err
	}
	if !a.Mode.IsDir() {
		return &fs.PathError{Op: "open folder", Path: dir, Err: errNoFolder}
	}
	return me().judgeFolder(dir, instead, a)
}

func (me Account) judgeFolder(dir, instead string, a Access) error {
	who := me.mayReplace(a)
	if who == "" {
		return nil
	}
	try := instead
	if me.owns(a) && a.Mode&fs.ModeSticky == 0 {
		try = withdrawWrite(dir)
	}
	return &Error{dir, who + ", so its files could be replaced", try}
}

// withdrawWrite returns the hint for a file or folder of this account that others may write.
func withdrawWrite(path string) string {
	return "remove the write access of other accounts:\n  chmod go-w " + shell.Word(path)
}

// File returns an error for a file or folder of another account, or for another type of file. It
// removes the permissions of others from our file, and returns repaired then. A missing file is an
// fs.ErrNotExist. Its folder must have passed Folder.
func File(path, flag string) (repaired bool, err error) {
	a, known, err := lstat(path)
	if err != nil || !known {
		return false, err
	}
	if err := me().judgeFile(path, flag, a); err != nil {
		return false, err
	}
	if a.Mode.Perm()&others == 0 {
		return false, nil
	}
	return true, closeToOthers(path, flag, a.Mode)
}

// Files is File for several files, and returns the repaired ones. It ignores missing files, such as
// drafts of another process.
func Files(paths []string, flag string) (repaired []string, err error) {
	for _, path := range paths {
		closed, err := File(path, flag)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return repaired, err
		case closed:
			repaired = append(repaired, path)
		}
	}
	return repaired, nil
}

func (me Account) judgeFile(path, flag string, a Access) error {
	switch {
	case !me.owns(a):
		return foreign(path, flag, a)
	case !a.Mode.IsRegular() && !a.Mode.IsDir():
		return &Error{path, "is neither a file nor a folder", "move it away, or use another path with " + flag}
	}
	return nil
}

func foreign(path, flag string, a Access) error {
	name := accountName(a.Owner)
	return &Error{path, fmt.Sprintf("belongs to %s, but this process runs as %s", name, accountName(me().User)),
		fmt.Sprintf("run the command as its owner: sudo -u %s assetferry ...; or use another path with %s", sudoName(a.Owner), flag)}
}

// closeToOthers removes the permissions of others. On a file system without permissions, it returns
// an error.
func closeToOthers(path, flag string, mode fs.FileMode) error {
	cherr := os.Chmod(path, mode.Perm()&^others)
	a, _, err := lstat(path)
	if err != nil {
		return err
	}
	if a.Mode.Perm()&others != 0 {
		return errors.Join(&Error{path, "is open to other accounts, and its file system does not support a change", "use a path on another disk with " + flag}, cherr)
	}
	return nil
}

// Readable returns an error for a file to read that another account wrote or could have replaced.
// Root may read all files.
func Readable(path, flag, instead string) error {
	a, known, err := stat(path)
	if err != nil || !known {
		return err
	}
	folder, _, err := stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	return me().judgeReading(path, flag, instead, a, folder)
}

func (me Account) judgeReading(path, flag, instead string, a, folder Access) error {
	if me.User == 0 { // sudo assetferry status, of another account
		if folder.Owner == a.Owner {
			folder.Owner = 0
		}
	} else if !me.owns(a) && a.Owner != 0 {
		return foreign(path, flag, a)
	}
	if err := me.judgeFolder(filepath.Dir(path), instead, folder); err != nil {
		return err
	}
	if a.Mode&(groupWrite|everyoneWrite) != 0 && !me.owns(a) { // CloseRead handles our files
		return &Error{path, "is writable by other accounts", withdrawWrite(path)}
	}
	return nil
}

// CloseRead removes the permissions of others from files of this account, and returns the changed
// ones. If that fails, it returns an error only for a file that others can write: a read-only file
// system, or one without permissions, is sufficient for reading. The first path must have passed
// Readable.
func CloseRead(paths []string, flag string) (repaired []string, err error) {
	if a, known, err := lstat(paths[0]); err != nil || !known || !me().owns(a) {
		return nil, err
	}
	for _, path := range paths {
		closed, err := File(path, flag)
		a, _, lerr := lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(lerr, fs.ErrNotExist):
		case err != nil && (lerr != nil || !me().owns(a) || a.Mode&(groupWrite|everyoneWrite) != 0):
			return repaired, err
		case closed && err == nil:
			repaired = append(repaired, path)
		}
	}
	return repaired, nil
}

// Repaired returns the message about files that were open to others.
func Repaired(paths []string) string {
	if n := len(paths) - 1; n > 0 {
		return fmt.Sprintf("Other accounts had access to %s and %d more. They have none now.", paths[0], n)
	}
	return fmt.Sprintf("Other accounts had access to %s. They have none now.", paths[0])
}

func accountName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return fmt.Sprintf("account %s", u.Username)
	}
	return fmt.Sprintf("account %d", id)
}

func groupName(id int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(id)); err == nil {
		return fmt.Sprintf("group %s", g.Name)
	}
	return fmt.Sprintf("group %d", id)
}

func sudoName(id int) string {
	if u, err := user.LookupId(strconv.Itoa(id)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("'#%d'", id)
}
