package rclone

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"assetferry/sources"
	"assetferry/sources/keyindex"
)

const (
	// wholeTime is the maximum time to list a folder with everything below it. After it, the folder
	// is listed alone, because rclone holds such a listing in memory before it sends any of it.
	wholeTime = 10 * time.Second
	// mostAhead is the maximum number of folders that are listed before the consumer needs them, and
	// mostHeld that of bytes in their listings.
	mostAhead = 64
	mostHeld  = 16 << 20
)

// A folder is a folder whose listing is requested.
type folder struct {
	prefix  string // of the keys in it; ends with a slash, but for the root
	isWhole bool   // the listing has everything below it

	known chan struct{} // closed when the following is set
	index *keyindex.Index
	bytes int64
	dirs  []string // names of folders in it that are not requested yet, in order; they end with a slash
	err   error

	requested []*folder // the next folders in it, in order
}

func (f *folder) isKnown() bool {
	select {
	case <-f.known:
		return true
	default:
		return false
	}
}

// A walk is one listing. Its folders are requested ahead of the consumer. Only the goroutine of the
// consumer starts them, so that the tree needs no lock.
type walk struct {
	ctx    context.Context
	cancel context.CancelFunc
	source *Source
	after  sources.Key
	yield  func(sources.Object) error
	hidden string // the prefix of keys whose folder is ambiguous

	folders int64 // that were listed, so far

	path     []*folder // from the root to the folder of the consumer
	active   int       // requests
	waiting  int       // folders that are requested, and not reached by the consumer
	finished chan *folder
	running  sync.WaitGroup
	held     int64 // bytes of listings
	open     map[*folder]struct{}
}

func newWalk(ctx context.Context, s *Source, after sources.Key) *walk {
	ctx, cancel := context.WithCancel(ctx)
	return &walk{ctx: ctx, cancel: cancel, source: s, after: after, finished: make(chan *folder), open: map[*folder]struct{}{}}
}

// close ends all requests and deletes temporary files.
func (w *walk) close() error {
	w.cancel()
	go func() {
		w.running.Wait()
		close(w.finished)
	}()
	for range w.finished { // until the last has ended
	}
	var errs []error
	for f := range w.open {
		errs = append(errs, w.discard(f))
	}
	return errors.Join(errs...)
}

// discard deletes the listing of a folder.
func (w *walk) discard(f *folder) error {
	delete(w.open, f)
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}

// start requests the listing of a folder.
func (w *walk) start(f *folder) {
	w.active++
	w.waiting++
	w.open[f] = struct{}{}
	w.running.Go(func() {
		f.err = w.source.load(w.ctx, f, w.isDone)
		close(f.known)
		w.finished <- f
	})
}

// await waits until a folder is listed, and starts others meanwhile.
func (w *walk) await(f *folder) error {
	w.path = append(w.path, f)
	for {
		w.startMore()
		if f.isKnown() {
			w.waiting--
			return w.ctx.Err()
		}
		select {
		case done := <-w.finished:
			w.end(done)
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		}
	}
}

// end counts a finished request.
func (w *walk) end(f *folder) {
	w.active--
	w.held += f.bytes
}

// startMore requests the folders that the consumer needs next.
func (w *walk) startMore() {
	for more := true; more; {
		select {
		case f := <-w.finished:
			w.end(f)
		default:
			more = false
		}
	}
	for w.active < w.source.options.Ahead && w.waiting < mostAhead && w.held < mostHeld {
		f := w.next()
		if f == nil {
			return
		}
		w.start(f)
	}
}

// next returns the first folder in the order of keys that is not requested yet; nil if none is known.
func (w *walk) next() *folder {
	for _, f := range slices.Backward(w.path) {
		if next := f.next(); next != nil {
			return next
		}
	}
	return nil
}

func (f *folder) next() *folder {
	if !f.isKnown() {
		return nil
	}
	for _, below := range f.requested {
		if next := below.next(); next != nil {
			return next
		}
	}
	if len(f.dirs) == 0 {
		return nil
	}
	next := f.below(f.dirs[0])
	f.dirs = f.dirs[1:]
	f.requested = append(f.requested, next)
	return next
}

func (f *folder) below(name string) *folder {
	return &folder{prefix: f.prefix + name, known: make(chan struct{})}
}

// child returns a folder in a folder, requested now if it was not before.
func (w *walk) child(f *folder, name string) *folder {
	if len(f.requested) == 0 {
		w.start(f.next())
	}
	child := f.requested[0]
	f.requested = f.requested[1:]
	return child
}

// leave deletes the listing of a folder, which was the last one in the path.
func (w *walk) leave(f *folder) error {
	w.path = w.path[:len(w.path)-1]
	w.held -= f.bytes
	return w.discard(f)
}

// load lists a folder: with everything below it if the storage can, and if that takes little time.
func (s *Source) load(ctx context.Context, f *folder, skip func(prefix string) bool) error {
	if s.abilities.whole && f.prefix != "" {
		ctx, cancel := context.WithTimeout(ctx, s.wholeTime)
		err := s.loadAs(ctx, f, true, skip)
		cancel()
		if err == nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.contact(ctx, func(ctx context.Context) error { return s.loadAs(ctx, f, false, skip) })
}

// loadAs lists a folder, with or without what is below it.
func (s *Source) loadAs(ctx context.Context, f *folder, whole bool, skip func(prefix string) bool) (err error) {
	dir := strings.TrimSuffix(f.prefix, "/")
	options := s.abilities.asked()
	options.Recurse = whole
	in, err := s.server.Call(ctx, "operations/list", map[string]any{"fs": s.root, "remote": dir, "opt": options})
	if err != nil {
		return err
	}
	defer in.Close()
	var sorter keyindex.Sorter
	defer func() { err = errors.Join(err, sorter.Discard()) }()
	f.isWhole, f.dirs, f.bytes = whole, nil, 0
	below := int64(0) // folders that are listed with this one
	begun := time.Now().Add(-time.Second)
	seen := map[string]bool{} // only if they are compared
	err = s.entries(in, func(e entry) error {
		key, ok := s.keyOf(&e, f)
		if !ok {
			return errForeign
		}
		if s.abilities.unsure && e.time.After(begun) {
			e.time = time.Time{} // some storages return the current time for every object
		}
		if e.isDir && whole {
			below++
		}
		if e.isDir && !whole && isName(f.prefix+key) && !skip(f.prefix+key) {
			f.dirs = append(f.dirs, key)
			if e.mangled { // twice, so that unique drops it and a folder that really has this name
				f.dirs = append(f.dirs, key)
			}
		}
		if s.options.Names != "" {
			seen[e.path] = true
		}
		data := e.data()
		f.bytes += int64(len(key) + len(data))
		return sorter.Add(keyindex.Record{Key: sources.Key(key), Data: data})
	})
	if err == nil && s.options.Names != "" {
		err = s.omitted(ctx, dir, seen, func(e entry) error {
			return sorter.Add(keyindex.Record{Key: sources.Key(strings.TrimPrefix(e.path, f.prefix)), Data: e.data()})
		})
	}
	if err != nil {
		return err
	}
	f.dirs = unique(f.dirs)
	s.known.Add(int64(len(f.dirs)) + below)
	s.listed.Add(1 + below)
	s.reached.Store(true)
	f.index, err = sorter.Index()
	return err
}

// unique sorts names, and drops those that occur more than once.
func unique(names []string) []string {
	slices.Sort(names)
	kept := names[:0]
	for n := 0; n < len(names); {
		end := n + 1
		for end < len(names) && names[end] == names[n] {
			end++
		}
		if end == n+1 {
			kept = append(kept, names[n])
		}
		n = end
	}
	return kept
}

// keyOf returns the key of an entry in its folder; that of a folder ends with a slash.
func (s *Source) keyOf(e *entry, f *folder) (string, bool) {
	key, below := strings.CutPrefix(e.path, f.prefix)
	if !below || key == "" || !f.isWhole && strings.Contains(key, "/") {
		return "", false
	}
	if e.isDir {
		return key + "/", true
	}
	if name, isLink := strings.CutSuffix(key, linkName); isLink && s.abilities.links {
		e.isLink, key = true, name
	}
	return key, true
}

// linkName is what rclone adds to the names of symbolic links.
const linkName = ".rclonelink"
