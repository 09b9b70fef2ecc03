// Package local makes a directory tree a source: every regular file below its
// root is an object whose key is the slash-separated path from the root.
//
// All reading goes through os.Root, so that no link and no key leads out of the
// tree. Nothing stays open between calls: a tree that is unmounted and mounted
// again is simply there again.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"assetferry/sources"
)

// Symlinks says what becomes of symbolic links.
type Symlinks int

const (
	// Skip lists a link with the obstacle sources.Symlink.
	Skip Symlinks = iota
	// Follow takes a link for what it leads to, as long as that is below the
	// root. Links that lead out, nowhere, or hold an absolute path (os.Root
	// refuses these wherever they lead) come as sources.BrokenSymlink, links to
	// a directory that they are in as sources.Symlink.
	Follow
)

// Options are the choices of New; the zero value suits most trees.
type Options struct {
	Symlinks Symlinks
	// Exclude names files and directories that are never part of the source,
	// such as the state database. They need not exist yet, and are recognized by path
	// and by identity, so also through other links to them.
	Exclude []string
	// Marker, if it is set, is the name of a file that makes the directory it is
	// in no part of the source, such as that of a sandbox.
	Marker string
}

// A Source is a directory tree.
type Source struct {
	root    string // absolute and cleaned
	follow  bool
	exclude []string // absolute
	marker  string
}

// New returns the source of the tree at root, which must be a directory. If
// there is nothing the error satisfies errors.Is(err, fs.ErrNotExist).
func New(root string, o Options) (*Source, error) {
	fail := func(err error, hint string) (*Source, error) {
		return nil, &sources.Error{Op: "list", Source: root, Err: err, Hint: hint}
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return fail(err, "give an absolute path")
	}
	root = abs
	switch info, err := os.Stat(root); {
	case errors.Is(err, fs.ErrNotExist):
		return fail(fs.ErrNotExist, hintMissing)
	case err != nil:
		return fail(cause(err), "check the path and its permissions")
	case !info.IsDir():
		return fail(errors.New("not a directory"), "give the directory that the files are in")
	}
	exclude := make([]string, len(o.Exclude))
	for i, path := range o.Exclude {
		if exclude[i], err = filepath.Abs(path); err != nil {
			return fail(err, "give absolute paths to exclude")
		}
		if _, inside := below(exclude[i], root); inside {
			return fail(fmt.Errorf("it is inside %s, which is never part of a source", exclude[i]), "choose another directory")
		}
	}
	return &Source{root: root, follow: o.Symlinks == Follow, exclude: exclude, marker: o.Marker}, nil
}

// Identity names the source for the state database: the absolute, cleaned path of its root.
func (s *Source) Identity() string { return s.root }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Nanosecond}
}

// Objects implements sources.Source. Objects carry no version tag: inode numbers
// change on remounts and on network file systems, so size and time are the
// version, and a reader looks again at its end.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		err := s.walk(ctx, after, yield)
		switch {
		case err == errStop:
			return
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err != nil:
			err = s.fail("list", "", err)
		}
		if err != nil {
			yield(sources.Object{}, err)
		}
	}
}

// walk lists the tree as it is now, and makes sure that it was there to the end:
// a root that is taken away looks like a tree whose entries vanish one by one.
func (s *Source) walk(ctx context.Context, after sources.Key, yield func(sources.Object, error) bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	root, err := openDirectory(os.OpenRoot, s.root)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	w := &walk{
		ctx: ctx, root: root, read: readDirectory, follow: s.follow, marker: s.marker, after: string(after), yield: yield,
		excluded: newExclusions(s.exclude, s.root),
	}
	if err := w.list(&directory{root: root, info: info}); err != nil {
		return err
	}
	now, err := os.Stat(s.root)
	if err == nil && !os.SameFile(info, now) {
		err = errors.New("another directory took its place during the listing")
	}
	return err
}

// openDirectory opens a directory and fails on anything else. Without the dot a
// pipe in its place would make OpenRoot hang.
func openDirectory(openRoot func(string) (*os.Root, error), path string) (*os.Root, error) {
	return openRoot(path + "/.")
}

// fail makes an error about the source or one of its objects.
func (s *Source) fail(op string, key sources.Key, err error) error {
	return &sources.Error{Op: op, Source: s.root, Key: key, Err: cause(err), Hint: hint(op, err)}
}

const hintMissing = "check the path; a disk or share may not be mounted"

// cause takes off the path that sources.Error says in its own way.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func hint(op string, err error) string {
	switch {
	case op == "list" && errors.Is(err, fs.ErrNotExist):
		return hintMissing
	case isExhausted(err):
		return "raise the limit of open files (ulimit -n)"
	case errors.Is(err, fs.ErrPermission):
		return "give the user that runs this the right to read it"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	}
	return ""
}
