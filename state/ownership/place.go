package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"assetferry/internal/mount"
	"assetferry/internal/private"
	"assetferry/state/disk"
)

// stateFlag is how a person names the file.
const stateFlag = "--state"

// Secure refuses a state database that another account could have written. It removes the
// permissions of other users from files of this account, and returns these files. Open does the
// same; call Secure first to report them.
func Secure(path string) (repaired []string, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return nil, err
	}
	if err := private.Folder(filepath.Dir(path), alternativePath(path)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it will be created for this account only
	} else if err != nil {
		return nil, notPrivate(path, err)
	}
	if repaired, err = private.Files(disk.Files(path), stateFlag); err != nil {
		return repaired, notPrivate(path, err)
	}
	return repaired, nil
}

// alternativePath names a state database in a folder of its own.
func alternativePath(path string) string {
	return stateFlag + " " + filepath.Join(filepath.Dir(path), "private", filepath.Base(path))
}

// CheckPlace refuses a folder in which no state database can be written: on a network file system,
// or one in which another account could replace files.
func CheckPlace(path string) error {
	path, err := disk.Resolve(path)
	if err != nil {
		return err
	}
	if err := CheckLocal(path, mount.Network); err != nil {
		return err
	}
	if err := private.Folder(filepath.Dir(path), alternativePath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notPrivate(path, err)
	}
	return nil
}

// readable refuses a state database that is read and that another account could have written.
func readable(path string) error {
	if err := private.Readable(path, stateFlag, alternativePath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notPrivate(path, err)
	}
	return nil
}

// SecureRead is Secure for a process that only reads a state database: root may read that of
// another account, and changes nothing there. OpenReadOnly does the same.
func SecureRead(path string) (repaired []string, err error) {
	if path, err = disk.Resolve(path); err != nil {
		return nil, err
	}
	if err := readable(path); err != nil {
		return nil, err
	}
	repaired, err = private.CloseRead(disk.Files(path), stateFlag)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return repaired, notPrivate(path, err)
	}
	return repaired, nil
}

func notPrivate(path string, err error) error {
	if _, ok := errors.AsType[*private.Error](err); ok {
		return fmt.Errorf("cannot use the state database: %w", err)
	}
	return disk.OpenError(path, err)
}

// ErrNetwork means that the file of a state database is on a network file system.
var ErrNetwork = errors.New("a network file system")

// A NetworkError refuses to write a state database that another machine serves. It is an
// ErrNetwork.
type NetworkError struct{ Path, Kind string }

func (e *NetworkError) Error() string {
	return fmt.Sprintf("cannot write the state database %s: it is on a network file system (%s), where SQLite's locks and shared memory do not work", e.Path, e.Kind)
}

// Is reports that every NetworkError is an ErrNetwork.
func (e *NetworkError) Is(target error) bool { return target == ErrNetwork }

// Hint returns the next step for the user.
func (e *NetworkError) Hint() string {
	return "name a file on a local disk with --state FILE; commands that only read also work on network file systems"
}

// CheckLocal refuses a path on a network file system. The function network returns the type of file
// system. CheckLocal ignores its errors, because the first operation on the file reports them.
func CheckLocal(path string, network func(path string) (kind string, err error)) error {
	if kind, err := network(path); err == nil && kind != "" {
		return &NetworkError{path, kind}
	}
	return nil
}
