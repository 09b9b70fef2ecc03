//go:build unix

package approvers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links may be on the way to the file.
const maxLinks = 40

// OutOfReach makes sure that the account of this process can change neither a file nor what
// its path leads through: each folder and each symbolic link on the way. It is a *ReachError
// if it can. Root may change any file, so for root that is always so: whoever runs this as
// root is held back by nothing.
//
// The owner of a file or folder may give itself the permission to write, so owning is
// refused like writing. Whether it may write is asked of the system, which knows groups,
// access lists and file systems that are mounted read-only.
func OutOfReach(file string) error {
	if os.Geteuid() == 0 {
		return &ReachError{file, "", "this runs as root, which may change any file"}
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	at := "/"
	if err := check(file, at); err != nil {
		return err
	}
	left := strings.Split(strings.Trim(path, "/"), "/")
	for links := 0; len(left) > 0; {
		next := filepath.Join(at, left[0])
		left = left[1:]
		if err := check(file, next); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("approvers_file %s: more than %d symbolic links", file, maxLinks)
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		left = append(strings.Split(strings.Trim(target, "/"), "/"), left...)
	}
	return nil
}

// check makes sure of one file, folder or link. In a folder with the sticky bit, such as
// /tmp, entries of others cannot be replaced, and who owns the entry is checked next.
func check(file, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("approvers_file %s: %w", file, err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) == os.Geteuid() {
		return &ReachError{file, path, "belongs to it"}
	}
	if info.Mode()&os.ModeSymlink != 0 || info.IsDir() && info.Mode()&os.ModeSticky != 0 {
		return nil
	}
	switch err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); {
	case err == nil:
		return &ReachError{file, path, "is writable"}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
		return nil
	default:
		return fmt.Errorf("approvers_file %s: %s: %w", file, path, err)
	}
}
