package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The suffixes of the files next to a state database.
const (
	WALSuffix        = "-wal"
	LockSuffix       = ".lock"
	GenerationSuffix = ".generation" // a folder, see mark
	SumsSuffix       = ".sums"
	DraftSuffix      = ".draft"
)

// Files returns every file and folder that a state database at path may consist of, so that a
// source can skip them. If the path is a symbolic link, they are next to its target.
func Files(path string) []string {
	if file, err := Resolve(path); err == nil && file != path {
		return append(Files(file), path)
	}
	return []string{path, path + WALSuffix, path + "-shm", path + "-journal", path + LockSuffix, path + GenerationSuffix,
		path + SumsSuffix, path + SumsSuffix + DraftSuffix, BackupPath(path), BackupDraft(path), BackupDraft(path) + "-journal"}
}

// BackupPath returns the path of the backup of a state database.
func BackupPath(path string) string {
	if file, err := Resolve(path); err == nil {
		path = file
	}
	return path + ".backup"
}

// BackupDraft returns the path of an unfinished backup.
func BackupDraft(path string) string { return BackupPath(path) + DraftSuffix }

// Resolve returns the absolute path of a state database. It resolves a symbolic link: SQLite puts
// its files next to the target, and our files have to be in the same folder.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open state database: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // the first operation on the file reports other errors
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot use the state database %s, which is a symbolic link: %w", path, err)
	}
	return file, nil
}

// MakeFile creates an empty file for the database if there is none. SQLite itself would let other
// users read it.
func MakeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// MakeDir creates a folder and its missing parents, so that they survive a power cut.
func MakeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MakeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := SyncDir(parent); !errors.Is(err, fs.ErrPermission) { // a folder may be writable but not readable
		return err
	}
	return nil
}

// Replace puts a file that is on the disk in the place of another.
func Replace(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// Remove removes a file if it exists, durably.
func Remove(name string) error {
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, SyncDir(filepath.Dir(name)))
}
