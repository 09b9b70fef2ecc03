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

// Secure refuses the directory of a sandbox if it is on a network file system or if another
// account could have put data or credentials into it. What is ours and open to others is
// closed; it gives those. The directory itself is closed only if it is that of a sandbox: one
// that was there before may hold other things. What is deeper in it is behind it. All that
// opens a directory calls Secure; this is for who has something to say about it.
func Secure(dir string) (repaired []string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if kind, err := mount.Network(dir); err == nil && kind != "" {
		return nil, &private.Error{Path: dir, Reason: fmt.Sprintf("is on a network file system (%s), where SQLite and locks do not work", kind), Try: "name a folder on a local disk with " + dataFlag}
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
