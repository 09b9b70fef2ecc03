//go:build !unix

package private

import (
	"errors"
	"io/fs"
	"os"
)

var errLink = errors.New("a symbolic link")

// openNoFollow opens a file, and checks before and after that it is not a link. Creating links
// needs a privilege on Windows.
func openNoFollow(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err == nil && before.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil || before == nil {
		return f, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(errLink, err, f.Close())
	}
	return f, nil
}
