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

// maxLinks is the maximum number of symbolic links in the path of the file.
const maxLinks = 40

// OutOfReach returns a *ReachError if the account of this process can change a file, or a folder or
// symbolic link in its path. For root it always does, since root can change any file.
//
// The owner of a file or folder can give itself write permission, so ownership counts like write
// access. The system decides about write access, because it knows groups, access lists and read-only
// file systems.
func OutOfReach(file string) error {
	if os.Geteuid() == 0 {
		return &ReachError{file, "", "root can change any file, and this command runs as root"}
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

// check checks one file, folder or link. In a folder with the sticky bit, such as /tmp, entries of other
// users cannot be replaced; the owner of the entry is checked next.
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
