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

// errStop says that the consumer wants no more objects.
var errStop = errors.New("stopped")

// A walk is one listing of a tree.
type walk struct {
	ctx      context.Context
	root     *os.Root // of the source; links are followed from here
	read     func(*os.Root) (nameReader, error)
	follow   bool
	excluded exclusions
	marker   string // see Options
	after    string
	yield    func(sources.Object, error) bool
}

// A directory is one that the walk is in.
type directory struct {
	root   *os.Root
	prefix string // of the keys in it: empty at the top, else with a slash at its end
	info   fs.FileInfo
	parent *directory

	names  []string // in it, as far as they matter
	listed []bool   // which of them it listed when it was read again; nil if it was not
	ghosts int      // how often it listed one that was not found
}

// list yields what is in a directory and below it.
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

// excuse returns an error that ends the walk, and else yields the obstacle of a directory, whose
// name comes with its slash, that cannot be read. One that was removed meanwhile is empty.
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

// visitAll yields what the names in a directory stand for, in the order of the keys.
// There a directory has a slash at its end, so that "a!" and all that is in it come
// before "a/x", whereas a plain walk would put "a/x" first. So a directory waits until
// the names before its slash are through, and no name has to be looked at beforehand
// to be put in its place. Each that waits begins with the one that waited before it,
// so the last to come is the first to be entered.
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

// visit yields the object or the obstacle of an entry that is no directory, and
// reports whether it is or may be one: what may be anything is both, so that nobody
// takes what is below it for gone.
func (w *walk) visit(d *directory, name string) (isDirectory bool, err error) {
	key := d.prefix + name
	e, err := w.find(d, name)
	switch {
	case err != nil:
		return false, err
	case e.isGone(), w.excluded.has(key, e.info):
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

// enter lists the directory of an entry, unless everything in it is listed already.
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

// isMarked reports whether a directory says of itself that it is part of no
// source.
func (w *walk) isMarked(d *os.Root) bool {
	if w.marker == "" {
		return false
	}
	_, err := d.Lstat(w.marker)
	return err == nil
}

// open opens the directory that an entry was seen to be, and no other.
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
	if string(o.Key) > w.after && !w.yield(o, nil) {
		return errStop
	}
	return nil
}

// isFatal reports whether an error is about this process and not about an entry.
func (w *walk) isFatal(err error) bool { return w.ctx.Err() != nil || isExhausted(err) }

func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}
