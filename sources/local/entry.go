package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"assetferry/sources"
)

// An entry is the result of looking up a name in a directory.
type entry struct {
	info fs.FileInfo // of the target of a followed link; of the link itself if that failed
	link bool        // a link was followed
	err  error

	listed bool // the directory lists it, but it is not found
}

// look looks up a name in a directory.
func (w *walk) look(d *directory, name string) entry {
	info, err := d.root.Lstat(name)
	if err != nil || !w.follow || info.Mode()&fs.ModeSymlink == 0 {
		return entry{info: info, err: err}
	}
	path, err := toPath(sources.Key(d.prefix + name))
	if err != nil {
		return entry{info: info, link: true, err: err}
	}
	target, err := w.root.Stat(path)
	if err != nil {
		return entry{info: info, link: true, err: err}
	}
	return entry{info: target, link: true}
}

// find looks up a name. A name that is not found was removed since the directory was read, or a mount
// lists names that it does not find. Only the former is deleted.
func (w *walk) find(d *directory, name string) (entry, error) {
	e := w.look(d, name)
	if !e.isMissing() {
		return e, nil
	}
	listed, err := w.isListed(d, name)
	if listed && err == nil {
		e = w.look(d, name) // it may exist again
		e.listed = true
	}
	return e, err
}

// isMissing reports whether the entry itself, not the target of its link, is missing.
func (e entry) isMissing() bool { return !e.link && !e.listed && errors.Is(e.err, fs.ErrNotExist) }

// isUnknown reports whether the entry exists but its type is unknown.
func (e entry) isUnknown() bool {
	if e.link {
		return e.err != nil && !isBrokenLink(e.err)
	}
	return e.err != nil && !e.isMissing()
}

// isBrokenLink reports whether an error of a followed link concerns the link, and not access to its
// target. os.Root has no specific error for a link that leads out of the root.
func isBrokenLink(err error) bool {
	_, isSystem := errors.AsType[syscall.Errno](err)
	return !isSystem || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

// descends reports whether the walk enters an entry of d: a directory, unless a link leads back to a
// parent directory.
func (w *walk) descends(d *directory, e entry) bool {
	if e.err != nil || !e.info.IsDir() {
		return false
	}
	for ; e.link && d != nil; d = d.parent {
		if os.SameFile(d.info, e.info) {
			return false
		}
	}
	return true
}
