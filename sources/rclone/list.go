package rclone

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/keyindex"
)

// Objects implements sources.Source.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return s.list(ctx, after, yield)
	}, func(err error) error { return s.fail(ctx, "list", "", err) })
}

func (s *Source) list(ctx context.Context, after sources.Key, yield func(sources.Object) error) (err error) {
	w := newWalk(ctx, s, after)
	defer func() { err = errors.Join(err, w.close()) }()
	isEmpty := true
	w.yield = func(o sources.Object) error {
		isEmpty = false
		if o.Key <= after {
			return nil
		}
		return yield(o)
	}
	root := &folder{known: make(chan struct{})}
	begun := time.Now()
	s.listed.Store(0)
	s.known.Store(1)
	if err := s.checkUpstreams(ctx); err != nil {
		return err
	}
	w.start(root)
	if err := w.visit(root); err != nil {
		return err
	}
	if err := s.checkUpstreams(ctx); err != nil { // it may have failed meanwhile
		return err
	}
	if isEmpty && after == "" {
		if err := s.checkDecrypted(ctx); err != nil {
			return err
		}
	}
	if after == "" {
		s.last.Store(&sources.Listing{Folders: w.folders, Took: time.Since(begun)})
	}
	return nil
}

// ListedFolders implements sources.Measured.
func (s *Source) ListedFolders() (listed, known int64) { return s.listed.Load(), s.known.Load() }

// LastListing implements sources.Measured.
func (s *Source) LastListing() sources.Listing {
	if l := s.last.Load(); l != nil {
		return *l
	}
	return sources.Listing{}
}

// visit yields everything in a folder and below it.
func (w *walk) visit(f *folder) (err error) {
	if err := w.await(f); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.leave(f)) }()
	if f.err != nil {
		return w.excuse(f)
	}
	w.folders++
	for group, err := range f.index.Groups(w.begin(f)) {
		if err != nil {
			return err
		}
		if err := w.entry(f, group); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the key in a folder after which the walk has to look: it must see the folders of the
// last key again, because one of them may be ambiguous.
func (w *walk) begin(f *folder) sources.Key {
	rest, below := strings.CutPrefix(string(w.after), f.prefix)
	if !below {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/") // its folder has a slash, so it comes later
	return sources.Key(name)
}

// entry yields an entry of a folder, or what is below it. Several entries of the same name cannot be
// distinguished by path.
func (w *walk) entry(f *folder, group []keyindex.Record) error {
	name := string(group[0].Key)
	key := f.prefix + name
	if w.hidden != "" && strings.HasPrefix(key, w.hidden) {
		return nil
	}
	if !strings.HasSuffix(name, "/") {
		return w.file(key, group)
	}
	e := entryOf(key, group[0].Data)
	if len(group) > 1 || e.mangled || !isName(key) {
		w.hidden = key
		return w.yield(sources.Object{Key: sources.Key(key), Obstacle: sources.UnreadableDirectory})
	}
	if f.isWhole {
		w.folders++
		return nil
	}
	if w.isDone(key) {
		return nil
	}
	return w.visit(w.child(f, name))
}

// isDone reports whether everything below a folder was listed before.
func (w *walk) isDone(prefix string) bool {
	return prefix < string(w.after) && !strings.HasPrefix(string(w.after), prefix)
}

// isName reports whether a path can be requested as it is. A folder "." or ".." would be a loop.
func isName(path string) bool {
	for segment := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return len(path) <= sources.MaxKeyLength
}

// file yields a file.
func (w *walk) file(key string, group []keyindex.Record) error {
	e := entryOf(key, group[0].Data)
	o := sources.Object{Key: sources.Key(key), Size: e.size, Time: e.time, VersionTag: e.tag}
	switch {
	case len(group) > 1:
		o = sources.Object{Key: o.Key, Obstacle: sources.Ambiguous}
	case e.isLink:
		o = sources.Object{Key: o.Key, Obstacle: sources.Symlink}
	case e.mangled:
		o.Obstacle = sources.Unreadable.Because("its name is not valid UTF-8")
	case !isName(key):
		o.Obstacle = sources.Unreadable.Because("rclone cannot request a name like this")
	case e.isOmitted:
		o.Obstacle = sources.Unreadable.Because("the server returns an error for it")
	case e.size < 0:
		o.Obstacle = sources.Unsized
	}
	o.Size = max(o.Size, 0)
	return w.yield(o)
}

// excuse decides what follows from a folder that could not be listed. It returns the error if it
// concerns the whole source.
func (w *walk) excuse(f *folder) error {
	if f.prefix == "" || w.ctx.Err() != nil {
		return f.err
	}
	if class, _ := retry.Classify(f.err); class == retry.Fatal || class == retry.Throttled {
		return f.err
	}
	found, err := w.source.stat(w.ctx, strings.TrimSuffix(f.prefix, "/"), listOptions{NoMimeType: true, NoModTime: true})
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !found.isDir:
		return nil // it was removed since its parent was listed
	case err != nil:
		if class, _ := retry.Classify(err); class != retry.Permanent {
			return err // the storage does not answer at all
		}
	}
	return w.yield(sources.Object{Key: sources.Key(f.prefix), Obstacle: sources.UnreadableDirectory})
}
