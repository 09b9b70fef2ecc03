package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"assetferry/sources"
)

// A walk is one listing of a tree.
type walk struct {
	ctx      context.Context
	root     *os.Root // of the source; links are resolved below it
	read     func(*os.Root) (nameReader, error)
	follow   bool
	excluded exclusions
	marker   string // see Options
	after    string
	yield    func(sources.Object) error
}

// A directory is a directory on the path of the walk.
type directory struct {
	root   *os.Root
	prefix string // of the keys in it: "" at the top, else with a slash at its end
	info   fs.FileInfo
	parent *directory

	names  []string // that may be listed
	listed []bool   // names that it listed when it was read again; nil if it was not
	ghosts int      // number of names that it listed but did not find
}

// list yields the objects in a directory and below it.
func (w *walk) list(d *directory) error {
	var err error
	if d.names, err = w.names(d); err != nil {
		if d.parent == nil {
			return err
		}
		if err := w.excuse(d.parent, strings.TrimPrefix(d.prefix, d.parent.prefix), err); err != nil {
			return err
		}
	}
	return w.visitAll(d)
}

// excuse returns an error that ends the walk. Otherwise it yields the obstacle of an unreadable
// directory; its name ends with a slash. A directory that was removed meanwhile is empty.
func (w *walk) excuse(d *directory, name string, why error) error {
	if w.isFatal(why) {
		return why
	}
	if errors.Is(why, fs.ErrNotExist) {
		e, err := w.find(d, strings.TrimSuffix(name, "/"))
		if err != nil || errors.Is(e.err, fs.ErrNotExist) && !e.listed {
			return err
		}
	}
	return w.obstacle(d.prefix+name, sources.UnreadableDirectory)
}

// visitAll yields the entries of a directory in the order of keys. In keys, a directory ends with a
// slash, so "a!" and everything below it come before "a/x". A plain walk would yield "a/x" first. A
// directory therefore waits until all names before its slash are done. The name of each waiting
// directory begins with the one before it, so the last one is entered first.
func (w *walk) visitAll(d *directory) error {
	var waiting []string
	for _, name := range d.names {
		for n := len(waiting) - 1; n >= 0 && waiting[n] < name; n-- {
			if err := w.enter(d, waiting[n]); err != nil {
				return err
			}
			waiting = waiting[:n]
		}
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		isDirectory, err := w.visit(d, name)
		if err != nil {
			return err
		}
		if isDirectory {
			waiting = append(waiting, name+"/")
		}
	}
	for _, name := range slices.Backward(waiting) {
		if err := w.enter(d, name); err != nil {
			return err
		}
	}
	return nil
}

// visit yields the object or the obstacle of an entry that is not a directory, and reports whether
// it is or may be a directory. An entry of unknown type is both, so that objects below it do not
// count as deleted.
func (w *walk) visit(d *directory, name string) (isDirectory bool, err error) {
	key := d.prefix + name
	e, err := w.find(d, name)
	switch {
	case err != nil:
		return false, err
	case e.isMissing(), w.excluded.has(key, e.info):
		return false, nil
	case e.isUnknown():
		return true, w.obstacle(key, sources.Unreadable)
	case w.descends(d, e):
		return true, nil
	case e.err != nil:
		return false, w.obstacle(key, sources.BrokenSymlink)
	case e.info.IsDir(), e.info.Mode()&fs.ModeSymlink != 0:
		return false, w.obstacle(key, sources.Symlink)
	case !e.info.Mode().IsRegular():
		return false, w.obstacle(key, sources.Special)
	}
	return false, w.emit(sources.Object{Key: sources.Key(key), Size: e.info.Size(), Time: modified(e.info)})
}

// enter lists the directory of an entry, unless all of it was already listed.
func (w *walk) enter(d *directory, name string) error {
	prefix := d.prefix + name
	if prefix < w.after && !strings.HasPrefix(w.after, prefix) {
		return nil
	}
	e, err := w.find(d, strings.TrimSuffix(name, "/"))
	if err != nil {
		return err
	}
	if e.isUnknown() {
		return w.obstacle(prefix, sources.UnreadableDirectory)
	}
	if !w.descends(d, e) {
		return nil
	}
	child, err := w.open(d, strings.TrimSuffix(name, "/"), e)
	if err != nil {
		return w.excuse(d, name, err)
	}
	defer child.Close()
	if w.isMarked(child) {
		return nil
	}
	return w.list(&directory{root: child, prefix: prefix, info: e.info, parent: d})
}

// isMarked reports whether a directory contains the marker file.
func (w *walk) isMarked(d *os.Root) bool {
	if w.marker == "" {
		return false
	}
	_, err := d.Lstat(w.marker)
	return err == nil
}

// open opens the directory of an entry, and checks that it is the same one.
func (w *walk) open(d *directory, name string, e entry) (*os.Root, error) {
	parent := d.root
	if e.link {
		path, err := toPath(sources.Key(d.prefix + name))
		if err != nil {
			return nil, err
		}
		parent, name = w.root, path
	}
	child, err := openDirectory(parent.OpenRoot, name)
	if err != nil {
		return nil, err
	}
	info, err := child.Stat(".")
	if err == nil && !os.SameFile(info, e.info) {
		err = sources.ErrChanged
	}
	if err != nil {
		child.Close()
		return nil, err
	}
	return child, nil
}

func (w *walk) obstacle(key string, o sources.Obstacle) error {
	return w.emit(sources.Object{Key: sources.Key(key), Obstacle: o})
}

func (w *walk) emit(o sources.Object) error {
	if string(o.Key) <= w.after {
		return nil
	}
	return w.yield(o)
}

// isFatal reports whether an error concerns this process and not an entry.
func (w *walk) isFatal(err error) bool { return w.ctx.Err() != nil || isExhausted(err) }

func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}
