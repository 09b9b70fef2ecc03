// Package private keeps files to the account of this process: what is ours and too open is
// closed, what another account could have written is refused.
//
// A file is looked at by its path, in a folder in which only we (and root) can rename or
// create anything, so nothing can be put in its place between the look and the use. That
// is why the folder is part of the rule: SQLite opens its files by path, several times, so
// a descriptor that was checked is of no use to it. Log files are opened once, by
// OpenLog, and there the descriptor is checked, whatever folder it is in.
//
// Only the folder itself is looked at, not those above it: whoever may rename there can
// put another folder in its place, but not one that belongs to us.
//
// Windows has other permissions, which a folder hands down; nothing is checked there.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// An Error says why a file is not used, and what to do about it.
type Error struct{ Path, Reason, Try string }

func (e *Error) Error() string { return e.Path + " " + e.Reason }

// Hint is the next step.
func (e *Error) Hint() string { return e.Try }

// An Access is what the file system says of a file: whose it is, and who may do what.
type Access struct {
	Owner, Group int
	Mode         fs.FileMode
	Links        int
}

// An Account is who a process acts for.
type Account struct{ User, Group int }

// others are the permissions of everybody but the owner.
const (
	others       fs.FileMode = 0o077
	groupWrite   fs.FileMode = 0o020
	anybodyWrite fs.FileMode = 0o002
)

// owns reports whether a file or folder is the account's own.
func (me Account) owns(a Access) bool { return a.Owner == me.User }

// mayReplace says who else can rename and create files in a folder, "" if only the account
// and root can. A group of one account, which has the number of that account by custom, is
// nobody else. The sticky bit is of no use to a database: who may create files can put one
// of the names that SQLite looks for beside it.
func (me Account) mayReplace(folder Access) string {
	switch {
	case !me.owns(folder) && folder.Owner != 0:
		return "belongs to " + accountName(folder.Owner)
	case folder.Mode&anybodyWrite != 0:
		return "can be written by all accounts"
	case folder.Mode&groupWrite != 0 && folder.Group != 0 && (folder.Group != me.User || folder.Group != me.Group):
		return "can be written by " + groupName(folder.Group)
	}
	return ""
}

var errNoFolder = errors.New("not a folder")

// Folder refuses a folder in which another account could replace files. What it suggests
// instead is a place of their own for them, in a folder that is made for this account.
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
		try = fmt.Sprintf("chmod go-w %s", dir)
	}
	return &Error{dir, who + ", so its files could be replaced", try}
}

// File refuses a file or folder of another account, and one that is neither a file nor a
// folder. One that is ours and open to others is closed to them; then it is repaired. A
// file that is not there is an fs.ErrNotExist. The folder that it is in must have passed
// Folder.
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

// Files is File for many, and gives those that it closed. One that is not there, such as a draft
// of another process, is passed by.
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
		return &Error{path, "is neither a file nor a folder", "move it away, or name another place with " + flag}
	}
	return nil
}

func foreign(path, flag string, a Access) error {
	name := accountName(a.Owner)
	return &Error{path, fmt.Sprintf("belongs to %s, and this process runs as %s", name, accountName(me().User)),
		fmt.Sprintf("run the command as its owner: sudo -u %s assetferry ...; or name another place with %s", sudoName(a.Owner), flag)}
}

// closeToOthers takes the permissions of others away. On a file system that keeps no
// permissions that does nothing; then the file is refused.
func closeToOthers(path, flag string, mode fs.FileMode) error {
	cherr := os.Chmod(path, mode.Perm()&^others)
	a, _, err := lstat(path)
	if err != nil {
		return err
	}
	if a.Mode.Perm()&others != 0 {
		return errors.Join(&Error{path, "is open to other accounts, and its file system does not let that be changed", "name a place on another disk with " + flag}, cherr)
	}
	return nil
}

// Readable refuses a file that is read and that neither this account nor root has written,
// or that another account could have put there. Root reads what it is told to.
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
	if a.Mode&(groupWrite|anybodyWrite) != 0 && !me.owns(a) { // one of ours is closed, see CloseRead
		return &Error{path, "can be written by other accounts", "chmod go-w " + path}
	}
	return nil
}

// CloseRead closes files that are read, and gives those that it closed. Only files of this
// account are; one that cannot be closed is refused only if others can write it, because a file
// system that is mounted for reading, or keeps no permissions, is good enough to read from. The
// first of the paths must have passed Readable.
func CloseRead(paths []string, flag string) (repaired []string, err error) {
	if a, known, err := lstat(paths[0]); err != nil || !known || !me().owns(a) {
		return nil, err
	}
	for _, path := range paths {
		closed, err := File(path, flag)
		a, _, lerr := lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(lerr, fs.ErrNotExist):
		case err != nil && (lerr != nil || !me().owns(a) || a.Mode&(groupWrite|anybodyWrite) != 0):
			return repaired, err
		case closed && err == nil:
			repaired = append(repaired, path)
		}
	}
	return repaired, nil
}

// Repaired is the one message about files that were closed to others.
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
