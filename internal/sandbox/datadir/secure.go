package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assetferry/internal/mount"
	"assetferry/internal/private"
)

const dataFlag = "--data"

// Secure refuses a sandbox directory on a network file system, or with data or credentials that
// another account could have written. It removes the access of others to files of this account,
// and returns those files. It only changes the directory itself if it belongs to a sandbox,
// because an older directory may contain other things. All functions that open a directory call
// Secure; call it to report repairs.
func Secure(dir string) (repaired []string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if kind, err := mount.Network(dir); err == nil && kind != "" {
		return nil, &private.Error{Path: dir, Reason: fmt.Sprintf("is on a network file system (%s), where SQLite and locks do not work", kind), Try: "use a folder on a local disk with " + dataFlag}
	}
	if _, err := os.Lstat(filepath.Join(dir, MarkerFile)); err != nil {
		err := private.Folder(dir, dataFlag+" "+filepath.Join(dir, "private"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	paths := []string{folder}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	repaired, ferr := private.Files(paths, dataFlag)
	return repaired, cmp.Or(ferr, err)
}
