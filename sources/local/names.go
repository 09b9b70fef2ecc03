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

// names reads the names in a directory in the order of the keys: directories
// have a slash at their end, and sort by it. A plain walk would put "a/x" before
// "a!". Names are all that is kept, because a directory may hold millions of them.
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
				names = w.appendName(names, d, name)
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

// appendName adds a name in the form that it is to be listed in. One that may be
// anything is added in both, so that nobody takes what is below it for gone.
func (w *walk) appendName(names []string, d *directory, name string) []string {
	e := w.look(d, name)
	switch {
	case e.isGone(), w.excluded.has(d.prefix+name, e.info):
		return names
	case e.isUnknown():
		return append(names, name, name+"/")
	case w.descends(d, e):
		return append(names, name+"/")
	}
	return append(names, name)
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
