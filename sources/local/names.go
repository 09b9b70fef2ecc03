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

// isListed reports whether a directory goes on listing a name that was not found in it.
func (w *walk) isListed(d *directory, name string) (bool, error) {
	if _, asked := slices.BinarySearch(d.missing, name); !asked {
		if err := w.readAgain(d, name); err != nil {
			return false, err
		}
	}
	_, listed := slices.BinarySearch(d.lost, name)
	return listed, nil
}

// readAgain finds out which names of a directory, from one that was not found on, it goes on
// listing although they are not found: of all at once, because a mount that does not know one
// name may not know any. If the directory does not tell, none is taken for gone.
func (w *walk) readAgain(d *directory, name string) error {
	d.missing, d.lost = []string{name}, nil
	i, _ := slices.BinarySearch(d.names, name+"\x00")
	for _, later := range d.names[i:] {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if w.look(d, later).isGone() {
			d.missing = append(d.missing, later)
		}
	}
	lost, err := w.namesThat(d, func(name string) bool {
		_, missing := slices.BinarySearch(d.missing, name)
		return missing
	})
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist): // a directory that is gone lists nothing
		d.lost = lost
	case w.isFatal(err):
		return err
	default:
		d.lost = d.missing
	}
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
