package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"assetferry/sources"
)

// An entry is what the walk knows of a name in a directory.
type entry struct {
	info fs.FileInfo // of what a followed link leads to; of the link itself if that failed
	link bool        // a link was followed
	err  error

	listed bool // by its directory, although it is not found there
}

// look says what a name in a directory is at this moment.
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

// find looks a name up. If nothing is found, it may have been removed since its directory was
// read, or be one that a mount lists and does not know: only the former is gone.
func (w *walk) find(d *directory, name string) (entry, error) {
	e := w.look(d, name)
	if !e.isGone() {
		return e, nil
	}
	listed, err := w.isListed(d, name)
	if listed && err == nil {
		e = w.look(d, name) // it may be there again
		e.listed = true
	}
	return e, err
}

// isGone reports whether the entry itself, not what it links to, is not there.
func (e entry) isGone() bool { return !e.link && !e.listed && errors.Is(e.err, fs.ErrNotExist) }

// isUnknown reports whether the entry is there but may be anything.
func (e entry) isUnknown() bool {
	if e.link {
		return e.err != nil && !leadsNowhere(e.err)
	}
	return e.err != nil && !e.isGone()
}

// leadsNowhere reports whether an error of a followed link is about the link, and
// not about reaching what it leads to. os.Root has no error number of its own
// for a link that leads out.
func leadsNowhere(err error) bool {
	_, isSystem := errors.AsType[syscall.Errno](err)
	return !isSystem || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
}

// descends reports whether the walk enters an entry of d: a directory, unless a
// link leads back to one that the walk is in.
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
