package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// chunk is the number of names that are read from a directory at once.
const chunk = 1024

// A nameReader reads the names in a directory, like os.File.
type nameReader interface {
	Readdirnames(n int) ([]string, error)
	io.Closer
}

func readDirectory(root *os.Root) (nameReader, error) { return root.Open(".") }

// names returns the names in a directory, ordered by bytes. The walk keeps only names, because their
// number has no limit: a million names of 18 bytes take 40 MB.
//
// With an error, it returns the names that were read before.
func (w *walk) names(d *directory) ([]string, error) {
	start := w.start(d)
	return w.namesThat(d, func(name string) bool { return !isBefore(name, start) })
}

func (w *walk) namesThat(d *directory, matter func(string) bool) (names []string, err error) {
	dir, err := w.read(d.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		if w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		part, err := dir.Readdirnames(chunk)
		for _, name := range part {
			if matter(name) {
				names = append(names, name)
			}
		}
		if err != nil {
			slices.Sort(names)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return names, err
		}
	}
}

// maxGhosts is the number of names that a directory lists but does not find before it is not read
// again.
const maxGhosts = 3

// isListed reports whether a directory still lists a name that was not found in it. If not, the
// name was deleted. The directory is read again for each such name. After maxGhosts names, or if it
// cannot be read, all names that are not found count as listed.
func (w *walk) isListed(d *directory, name string) (bool, error) {
	i, _ := slices.BinarySearch(d.names, name)
	switch {
	case d.listed != nil && !d.listed[i]:
		return false, nil
	case d.ghosts >= maxGhosts:
		return true, nil
	}
	if err := w.readAgain(d); err != nil {
		if w.isFatal(err) {
			return false, err
		}
		d.ghosts = maxGhosts
		return true, nil
	}
	if d.listed[i] {
		d.ghosts++
	}
	return d.listed[i], nil
}

// readAgain records the names that a directory still lists: none if the directory was deleted.
func (w *walk) readAgain(d *directory) error {
	listed := make([]bool, len(d.names))
	_, err := w.namesThat(d, func(name string) bool {
		if i, known := slices.BinarySearch(d.names, name); known {
			listed[i] = true
		}
		return false
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.listed = listed
	return nil
}

// start returns the first name to list in a directory when a listing resumes.
func (w *walk) start(d *directory) string {
	rest, inside := strings.CutPrefix(w.after, d.prefix)
	if !inside {
		return ""
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i+1]
	}
	return rest
}

// isBefore reports whether a name sorts before start, with and without a slash at its end.
func isBefore(name, start string) bool {
	return name < start && !strings.HasPrefix(start, name)
}
