// Package local reads a directory tree as a source: every regular file below its root is an object
// whose key is the slash-separated path from the root.
//
// It reads through os.Root, so that no link and no key leads out of the tree. It keeps nothing open
// between calls, so a tree may be unmounted and mounted again.
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

// Symlinks is the policy for symbolic links.
type Symlinks int

const (
	// Skip lists a link with the obstacle sources.Symlink.
	Skip Symlinks = iota
	// Follow reads the target of a link if it is below the root. Broken links, links
	// out of the root, and links with an absolute path, which os.Root refuses, get
	// sources.BrokenSymlink. Links to a parent directory get sources.Symlink.
	Follow
)

// Options are the options of New; the zero value is suitable for most trees.
type Options struct {
	Symlinks Symlinks
	// Exclude lists files and directories that are not part of the source, such as
	// the state database. They need not exist yet. They are recognized by path and by
	// identity, so also through other links.
	Exclude []string
	// Marker, if set, is the name of a file that excludes its directory from the
	// source, such as that of a sandbox.
	Marker string
}

// A Source is a directory tree.
type Source struct {
	root    string // absolute and cleaned
	follow  bool
	exclude []string // absolute
	marker  string
}

// New returns the source of the tree at root, which must be a directory. If root is missing, the
// error satisfies errors.Is(err, fs.ErrNotExist).
func New(root string, o Options) (*Source, error) {
	fail := func(err error, hint string) (*Source, error) {
		return nil, &sources.Error{Op: "list", Source: root, Err: err, Hint: hint}
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return fail(err, "use an absolute path")
	}
	root = abs
	switch info, err := os.Stat(root); {
	case errors.Is(err, fs.ErrNotExist):
		return fail(fs.ErrNotExist, hintMissing)
	case err != nil:
		return fail(sources.Cause(err), "check the path and its permissions")
	case !info.IsDir():
		return fail(errors.New("not a directory"), "use the directory that contains the files")
	}
	exclude := make([]string, len(o.Exclude))
	for i, path := range o.Exclude {
		if exclude[i], err = filepath.Abs(path); err != nil {
			return fail(err, "use absolute paths to exclude")
		}
		if _, inside := below(exclude[i], root); inside {
			return fail(fmt.Errorf("it is inside %s, which cannot be a source", exclude[i]), "use another directory")
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

// Objects implements sources.Source. Objects have no version tag, because inode numbers change on
// remounts and on network file systems. Size and time are the version, and a reader checks them again
// at its end.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return s.walk(ctx, after, yield)
	}, func(err error) error { return s.fail("list", "", err) })
}

// walk lists the tree, and checks at the end that its root is still the same: in a removed root, all
// entries look deleted.
func (s *Source) walk(ctx context.Context, after sources.Key, yield func(sources.Object) error) error {
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
		err = errors.New("the directory was replaced during the listing")
	}
	return err
}

// openDirectory opens a directory and fails for other types. Without the dot, OpenRoot would hang
// on a pipe.
func openDirectory(openRoot func(string) (*os.Root, error), path string) (*os.Root, error) {
	return openRoot(path + "/.")
}

// fail returns an error about the source or one of its objects.
func (s *Source) fail(op string, key sources.Key, err error) error {
	return &sources.Error{Op: op, Source: s.root, Key: key, Err: sources.Cause(err), Hint: hint(op, err)}
}

const hintMissing = "check the path; a disk or share may not be mounted"

func hint(op string, err error) string {
	switch {
	case op == "list" && errors.Is(err, fs.ErrNotExist):
		return hintMissing
	case isExhausted(err):
		return "raise the limit of open files (ulimit -n)"
	case errors.Is(err, fs.ErrPermission):
		return "give this account read permission"
	case errors.Is(err, sources.ErrChanged):
		return "list the source again"
	}
	return ""
}
