package ckfinder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Objects implements sources.Source.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return s.list(ctx, string(after), yield)
	}, func(err error) error { return s.fail(ctx, "list", "", err) })
}

// list starts a walk, and yields its objects.
func (s *Source) list(ctx context.Context, after string, yield func(sources.Object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	w := &walk{source: s, after: after, found: make(chan *finding, parallel-2)}
	defer w.running.Wait()
	defer cancel()
	w.running.Go(func() {
		defer close(w.found)
		w.err = w.run(ctx)
	})
	for f := range w.found {
		<-f.known
		if f.err != nil {
			return f.err
		}
		if err := yield(f.object); err != nil {
			return err
		}
	}
	return w.err
}

// A walk is one listing. It is ahead of the consumer by the number of parallel requests.
type walk struct {
	source  *Source
	after   string
	found   chan *finding
	running sync.WaitGroup
	err     error // of the walk; valid after found is closed
}

// A finding is an object whose exact values are requested.
type finding struct {
	object sources.Object
	known  chan struct{} // closed when the rest is set
	err    error
}

func (w *walk) run(ctx context.Context) error {
	kinds, err := w.source.kinds(ctx)
	if err != nil {
		return err
	}
	if start := w.source.url.start(); start.kind != "" {
		if !slices.Contains(kinds, start.kind) {
			return &remote.Failure{Err: fmt.Errorf("there is no resource type %q; the connector has %s", start.kind, strings.Join(kinds, ", ")), Is: fs.ErrNotExist, Kind: retry.Permanent}
		}
		return w.list(ctx, start)
	}
	for _, name := range kinds {
		if err := w.enter(ctx, place{path: "/"}, name+"/"); err != nil {
			return err
		}
	}
	return nil
}

// kinds requests the names of the resource types, in the order of their keys. None is an error and
// not an empty library: the session may lack permission.
func (s *Source) kinds(ctx context.Context) ([]string, error) {
	b, err := ask[beginning](ctx, s, "Init", nil)
	switch {
	case err != nil:
		if f, ok := errors.AsType[*remote.Failure](err); ok && errors.Is(err, fs.ErrPermission) {
			f.Auth, f.Kind = true, retry.Fatal
		}
		return nil, err
	case b.Enabled != nil && !*b.Enabled:
		return nil, &remote.Failure{Err: errors.New(meaning(disabled)), Kind: retry.Fatal, Auth: true}
	case len(b.Types) == 0:
		return nil, &remote.Failure{Err: errors.New("the connector has no visible resource types"), Kind: retry.Fatal, Auth: true}
	}
	var names []string
	for _, t := range b.Types {
		if t.Name == "" || strings.Contains(t.Name, "/") {
			return nil, &remote.Failure{Err: fmt.Errorf("the connector has the invalid resource type %q", t.Name), Kind: retry.Permanent}
		}
		names = append(names, t.Name)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a+"/", b+"/") })
	for i := range len(names) - 1 {
		if names[i] == names[i+1] {
			return nil, &remote.Failure{Err: fmt.Errorf("the connector has two resource types %q, which cannot be distinguished", names[i]), Kind: retry.Permanent}
		}
	}
	return names, nil
}

// enter lists a folder, unless all of it was already listed. It refuses "." and "..", which would
// be loops.
func (w *walk) enter(ctx context.Context, parent place, name string) error {
	at := parent.folder(name)
	if parent.kind == "" {
		at = place{kind: strings.TrimSuffix(name, "/"), path: "/", prefix: name}
	}
	if at.prefix < w.after && !strings.HasPrefix(w.after, at.prefix) {
		return nil
	}
	if name == "./" || name == "../" || len(at.prefix) > sources.MaxKeyLength {
		return w.obstacle(ctx, at.prefix, sources.UnreadableDirectory)
	}
	return w.list(ctx, at)
}

// list lists everything in a folder and below it.
func (w *walk) list(ctx context.Context, at place) error {
	entries, err := w.source.entries(ctx, at)
	if err != nil {
		if err := w.excuse(ctx, at, err); err != nil {
			return err
		}
		if w.isRemoved(ctx, at, err) {
			return nil
		}
		if err := w.obstacle(ctx, at.prefix, sources.UnreadableDirectory); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		visit := w.file
		if e.isFolder() {
			visit = w.subfolder
		}
		if err := visit(ctx, at, e); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) subfolder(ctx context.Context, at place, e entry) error {
	return w.enter(ctx, at, e.name)
}

// excuse returns nil for an error of a single folder or file. It returns the error if it ends the
// listing: at the start folder, and if the session has ended.
func (w *walk) excuse(ctx context.Context, at place, err error) error {
	if at.prefix == "" {
		return err
	}
	return w.source.excuse(ctx, at.kind, err)
}

// excuse checks after an error of an entry whether its resource type is still visible. If so, the
// error concerns only the entry, and excuse returns nil.
func (s *Source) excuse(ctx context.Context, kind string, err error) error {
	f, ok := errors.AsType[*remote.Failure](err)
	if !ok || f.Status == 0 || f.Kind == retry.Throttled {
		return err
	}
	kinds, lost := s.kinds(ctx)
	switch {
	case lost != nil:
		return lost
	case !slices.Contains(kinds, kind):
		return err
	}
	return nil
}

// isRemoved reports whether a folder that was not found has been removed since it was listed. A name
// that the connector lists but does not find is not removed.
func (w *walk) isRemoved(ctx context.Context, at place, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) || at.path == "/" {
		return false
	}
	parent, name := at.parent()
	list, err := ask[folderList](ctx, w.source, "GetFolders", parent.parameters())
	if err != nil || list.answersFor(parent) != nil || list.whole(viewFolders) != nil {
		return false
	}
	for _, f := range list.Folders {
		if f.Name == name {
			return false
		}
	}
	return true
}

// parent returns the parent of a folder, and its name.
func (p place) parent() (place, string) {
	path := strings.TrimSuffix(p.path, "/")
	i := strings.LastIndexByte(path, '/')
	return place{kind: p.kind, path: path[:i+1]}, path[i+1:]
}

func (w *walk) obstacle(ctx context.Context, key string, o sources.Obstacle) error {
	if key <= w.after {
		return nil
	}
	f := &finding{object: sources.Object{Key: sources.Key(key), Obstacle: o}, known: make(chan struct{})}
	close(f.known)
	return w.hand(ctx, f)
}

// hand passes a finding to the consumer.
func (w *walk) hand(ctx context.Context, f *finding) error {
	select {
	case w.found <- f:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// file requests the exact values of a file.
func (w *walk) file(ctx context.Context, at place, e entry) error {
	key := at.prefix + e.name
	switch {
	case key <= w.after:
		return nil
	case e.name == "": // a folder marker of an object store
		return w.obstacle(ctx, key, sources.FolderMarker)
	}
	f := &finding{object: sources.Object{Key: sources.Key(key)}, known: make(chan struct{})}
	if err := w.hand(ctx, f); err != nil {
		return err
	}
	w.running.Go(func() {
		defer close(f.known)
		f.err = w.source.look(ctx, at, e, &f.object)
	})
	return nil
}
