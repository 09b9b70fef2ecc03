//go:build unix

package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// sameAccess copies the owner, the permissions and the attributes of another file.
func sameAccess(f, as *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	like, err := as.Stat()
	if err != nil {
		return err
	}
	want, ok := like.Sys().(*syscall.Stat_t)
	have, also := is.Sys().(*syscall.Stat_t)
	if ok && also && (want.Uid != have.Uid || want.Gid != have.Gid) {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return err
		}
	}
	if err := sameAttributes(f.Name(), as.Name()); err != nil {
		return err
	}
	return f.Chmod(like.Mode().Perm() | like.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// hasOtherNames reports whether a file has more than one name (hard links).
func hasOtherNames(info fs.FileInfo) bool {
	is, ok := info.Sys().(*syscall.Stat_t)
	return !ok || is.Nlink > 1
}

// syncDir makes a rename in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
