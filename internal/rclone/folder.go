package rclone

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assetferry/internal/filelock"
)

const (
	folderPrefix = "assetferry-rclone-"
	unfinished   = ".new"
	lockName     = "lock"
	socketName   = "s"

	// maxSocketPath is the shortest limit of the supported systems for the path of a socket.
	maxSocketPath = 103
	// abandonedAfter is longer than the creation of a folder takes.
	abandonedAfter = time.Hour
)

// A socketFolder is a folder for the socket that only this account can open. Its lock shows to other
// processes that its owner is alive.
type socketFolder struct {
	path string
	lock *filelock.Lock
}

// newSocketFolder creates a folder, and removes those of dead processes of this account.
func newSocketFolder(environ []string) (*socketFolder, error) {
	base := socketBase(environ)
	removeStale(base)
	path := filepath.Join(base, folderPrefix+rand.Text()[:12])
	// The folder gets its name when its lock is held, so that no other process considers it stale.
	draft := path + unfinished
	if err := os.Mkdir(draft, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Acquire(filepath.Join(draft, lockName))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	if err := os.Rename(draft, path); err != nil {
		return nil, errors.Join(err, lock.Release(), os.RemoveAll(draft))
	}
	return &socketFolder{path, lock}, nil
}

// socketBase returns the runtime folder of the user, or a folder for temporary files. Its path is
// short enough for a socket.
func socketBase(environ []string) string {
	for _, base := range []string{valueOf(environ, "XDG_RUNTIME_DIR"), cmp.Or(valueOf(environ, "TMPDIR"), "/tmp")} {
		longest := filepath.Join(base, folderPrefix+"123456789012", socketName)
		if info, err := os.Stat(base); filepath.IsAbs(base) && err == nil && info.IsDir() && len(longest) <= maxSocketPath && isWritable(base) {
			return base
		}
	}
	return "/tmp"
}

// isWritable reports whether files can be created in a folder. The runtime folder may belong to
// another user, for example after su.
func isWritable(dir string) bool {
	f, err := os.CreateTemp(dir, folderPrefix+"*"+unfinished)
	if err != nil {
		return false
	}
	return errors.Join(f.Close(), os.Remove(f.Name())) == nil
}

// socket returns the path of the socket.
func (f *socketFolder) socket() string { return filepath.Join(f.path, socketName) }

// remove deletes the folder.
func (f *socketFolder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Release())
}

// removeStale deletes the folders of processes that were killed. Errors are ignored: folders of
// other accounts cannot be opened.
func removeStale(base string) {
	found, err := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if strings.HasSuffix(path, unfinished) {
			if time.Since(info.ModTime()) > abandonedAfter {
				_ = os.RemoveAll(path)
			}
			continue
		}
		if info.Mode().Type() == fs.ModeDir {
			removeUnlocked(path)
		}
	}
}

func removeUnlocked(path string) {
	lockFile := filepath.Join(path, lockName)
	if _, err := os.Lstat(lockFile); err != nil {
		return // it is not ours, or just removed
	}
	lock, err := filelock.Acquire(lockFile)
	if err != nil {
		return // its owner is alive
	}
	_ = os.RemoveAll(path)
	_ = lock.Release()
}
