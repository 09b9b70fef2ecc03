package local

import (
	"context"
	"errors"
	"io"
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
	dir, err := w.read(d.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var (
		names []string
		start = w.start(d)
	)
	for {
		if w.ctx.Err() != nil {
			return nil, context.Cause(w.ctx)
		}
		part, err := dir.Readdirnames(chunk)
		for _, name := range part {
			if !isBefore(name, start) {
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
