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

// chunk is how many names are read from a directory at once.
const chunk = 1024

// A nameReader reads the names in a directory, as os.File does.
type nameReader interface {
	Readdirnames(n int) ([]string, error)
	io.Closer
}

func readDirectory(root *os.Root) (nameReader, error) { return root.Open(".") }

// names reads the names in a directory, in the order of their bytes. They are all
// that is kept of it, because they are the one thing in a walk that has no bound: a
// directory of a million names of 18 bytes takes 40 MB.
//
// With an error come the names that were read before it.
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

// maxGhosts is how many names a directory may list and not have before it is asked no more.
const maxGhosts = 3

// isListed reports whether a directory goes on listing a name that was not found in it. One that
// it does not list when it is read again is gone. One that it does list may be gone by now, so it
// is read once more for each, until it has shown to be one that lists what it does not have: all
// that is not found there is taken for listed then. So it is if the directory does not tell.
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

// readAgain notes which names of a directory it goes on listing: none, if it is gone.
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

// start is the first name of interest in a directory when a listing goes on.
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

// isBefore reports whether a name sorts before start with and without a slash
// at its end.
func isBefore(name, start string) bool {
	return name < start && !strings.HasPrefix(start, name)
}
