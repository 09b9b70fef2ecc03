// Package export writes a workspace out as files: each asset as CATEGORY/FOLDER/NAME.EXT
// with a sidecar beside it, and a manifest at the top, so that nobody is locked in. It also
// reads such files as a source, which knows again what was private.
//
// No file is ever seen that is not whole. A file is written before its sidecar, which says
// of which version of which asset it is: so what is there with its sidecar is not fetched
// again, and an export that was interrupted goes on where it was, without a state database.
package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/sources"
)

// A Library is what is exported.
type Library interface {
	sources.Structured
	Identity() string
	// Contents lists all objects, in the order of keys, and tells of each container by
	// its prefix, before what is in it.
	Contents(ctx context.Context, entered func(prefix sources.Key)) iter.Seq2[sources.Object, error]
	// Open opens an object; what it gives is an [Opened].
	Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error)
}

// Opened is the content of an asset, with what is known of it.
type Opened interface {
	io.ReadCloser
	sources.Describer
	Asset() assets.Asset
}

// A Store is where files are written. Its names have slashes, and are safe everywhere.
type Store interface {
	// Read returns a small file; without one it fails with fs.ErrNotExist.
	Read(ctx context.Context, name string) ([]byte, error)
	// Size returns the size of a file; without one it fails with fs.ErrNotExist.
	Size(ctx context.Context, name string) (int64, error)
	// Write puts a file of a size in the place of whatever is there. Nobody sees a part
	// of it, and where it fails nothing is changed.
	Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error
	// IsEmpty reports whether there is nothing that an export could get in the way of.
	IsEmpty(ctx context.Context) (bool, error)
	// Folder makes a folder, where there are any; the top is ".".
	Folder(ctx context.Context, name string) error
}

// An Action is what happens to an asset.
type Action string

// The actions.
const (
	Create    Action = "create"
	Replace   Action = "replace"   // a version that is there already, which is another one
	Unchanged Action = "unchanged" // it is there
)

// An Outcome is what came of an asset.
type Outcome struct {
	Key    sources.Key
	Path   string
	Asset  string // its ID
	URL    string // empty if it was not asked for
	Action Action
	Size   int64
	Err    error
}

// An Exporter exports a library into a store.
type Exporter struct {
	Library Library
	Store   Store
	Now     func() time.Time
	// Concurrency is the most assets at once.
	Concurrency int
	// Limit bounds how fast contents are read; nil does not.
	Limit func(ctx context.Context, content io.ReadCloser) io.ReadCloser
	// Stop ends an export in good order when it is closed.
	Stop <-chan struct{}
	// Outcome is told what came of each asset, by one goroutine at a time, and Progress of
	// the bytes that were written, by any.
	Outcome  func(Outcome)
	Progress func(bytes int64)
	// StaysPrivate is told of each category that is public now and was private when it was
	// exported before: its folder may have files from then, so the manifest has it as
	// private as ever.
	StaysPrivate func(category string)
	// DryRun only looks what would happen.
	DryRun bool
}

// ErrStopped says that an export ended because it was asked to.
var ErrStopped = errors.New("stopped before everything was exported")

// errChanged says that an asset was changed or deleted since it was listed.
var errChanged = errors.New("changed since it was listed; export again to have it as it is now")

// An OccupiedError says that there is something else where an export was to go, which it
// might overwrite.
type OccupiedError struct{ What string }

func (e *OccupiedError) Error() string {
	return "it would get in the way of what is there already: " + e.What
}

// admit makes sure that files go where there is nothing, or an export of the same library,
// of which it gives the manifest.
func (e *Exporter) admit(ctx context.Context) (Manifest, error) {
	data, err := e.Store.Read(ctx, ManifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		empty, err := e.Store.IsEmpty(ctx)
		if err == nil && !empty {
			err = &OccupiedError{"files that are no export"}
		}
		return Manifest{}, err
	case err != nil:
		return Manifest{}, err
	}
	m, err := readManifest(bytes.NewReader(data))
	switch {
	case errors.Is(err, errNoManifest):
		err = &OccupiedError{"files that are no export"}
	case err == nil && m.Source != e.Library.Identity():
		err = &OccupiedError{"an export of " + m.Source}
	}
	return m, err
}

// Run exports everything. What fails is told to Outcome and does not keep the rest from
// being exported; an error is of the export as a whole.
func (e *Exporter) Run(ctx context.Context) error {
	before, err := e.admit(ctx)
	if err != nil {
		return err
	}
	structure, err := e.Library.Structure(ctx)
	if err != nil {
		return err
	}
	r := e.newRun(structure, before)
	if err := r.folder(ctx, "."); err != nil {
		return err
	}
	// Before the first content, so that what is private is known as such whenever this ends.
	if err := r.writeManifest(ctx); err != nil {
		return err
	}
	if err := r.all(ctx); err != nil {
		return err
	}
	r.manifest.Complete = r.failed == 0
	return r.writeManifest(ctx)
}

// A run is one export.
type run struct {
	*Exporter
	names    *names
	private  map[string]bool // categories by their segments
	manifest Manifest
	pending  *empty // the container that was entered last, as long as nothing is in it

	telling sync.Mutex // guards what follows, and the sums in the manifest
	failed  int
	inRow   int
}

type empty struct{ prefix, path string }

// newRun begins an export of categories into what another one left. The categories of that
// one stay known which are gone: their files are still there, and some of them are private.
func (e *Exporter) newRun(structure []sources.Category, before Manifest) *run {
	r := &run{Exporter: e, names: newNames(), private: map[string]bool{}}
	r.manifest = Manifest{Type: manifestType, Version: manifestVersion, Source: e.Library.Identity(), Made: e.Now().UTC().Truncate(time.Second),
		Categories: []Category{}, EmptyFolders: []string{}}
	planned := newNames()
	for _, c := range structure {
		r.private[c.Segment] = c.Private
		folder := planned.enter(sources.Key(c.Segment + "/"))
		private := c.Private || before.isPrivate(folder)
		if private && !c.Private {
			e.StaysPrivate(c.Name)
		}
		r.manifest.Categories = append(r.manifest.Categories, Category{Folder: folder, Name: c.Name, Private: private, Extensions: append([]string{}, c.Extensions...)})
	}
	for _, c := range before.Categories {
		if !slices.ContainsFunc(r.manifest.Categories, func(now Category) bool { return now.Folder == c.Folder }) {
			r.manifest.Categories = append(r.manifest.Categories, c)
		}
	}
	return r
}

func (r *run) writeManifest(ctx context.Context) error {
	if r.DryRun {
		return nil
	}
	data, err := encode(r.manifest)
	if err != nil {
		return err
	}
	return r.Store.Write(ctx, ManifestName, "application/json", int64(len(data)), bytes.NewReader(data))
}

func (r *run) folder(ctx context.Context, path string) error {
	if r.DryRun {
		return nil
	}
	return r.Store.Folder(ctx, path)
}

// A task is an object with its path.
type task struct {
	object sources.Object
	path   string
}

// all lists, and has workers export what is listed. What they have begun they end, unless one
// of them finds that nothing can be exported any more.
func (r *run) all(ctx context.Context) error {
	tasks := make(chan task)
	group, ctx := errgroup.WithContext(ctx)
	for range max(r.Concurrency, 1) {
		group.Go(func() error {
			for t := range tasks {
				if err := r.one(ctx, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := r.list(ctx, tasks)
	close(tasks)
	if werr := group.Wait(); werr != nil {
		return werr
	}
	return err
}

func (r *run) list(ctx context.Context, tasks chan<- task) error {
	var failed error
	entered := func(prefix sources.Key) {
		path := r.enter(prefix)
		if failed == nil {
			failed = r.knows(prefix)
		}
		if failed == nil {
			failed = r.folder(ctx, path)
		}
	}
	for o, err := range r.Library.Contents(ctx, entered) {
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		r.leave(string(o.Key))
		select {
		case <-r.Stop: // also if somebody would take it
			return ErrStopped
		default:
		}
		select {
		case tasks <- task{o, r.names.place(o.Key)}:
		case <-r.Stop:
			return ErrStopped
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	r.leave("")
	return failed
}

// knows makes sure that the manifest has the category that the listing comes to. One that was
// made meanwhile may be private, and nobody would know.
func (r *run) knows(prefix sources.Key) error {
	segment, folder, _ := strings.Cut(string(prefix), "/")
	if _, known := r.private[segment]; !known && folder == "" {
		return fmt.Errorf("the category %q was made while the others were exported; export again", segment)
	}
	return nil
}

// enter records a container, which is empty unless something in it comes next.
func (r *run) enter(prefix sources.Key) (path string) {
	r.leave(string(prefix))
	path = r.names.enter(prefix)
	r.pending = &empty{string(prefix), path}
	return path
}

// leave notes that the container that was entered last is empty, if what comes next is not
// in it. An empty category is known as such anyway.
func (r *run) leave(next string) {
	if p := r.pending; p != nil && !strings.HasPrefix(next, p.prefix) && strings.Contains(p.path, "/") {
		r.manifest.EmptyFolders = append(r.manifest.EmptyFolders, p.path)
	}
	r.pending = nil
}

// one exports an asset, and tells what came of it. Its error is one of the whole export.
func (r *run) one(ctx context.Context, t task) error {
	out := Outcome{Key: t.object.Key, Path: t.path, Asset: t.object.VersionTag, Size: t.object.Size}
	out.Action, out.Err = r.decide(ctx, t)
	if out.Err == nil && out.Action != Unchanged && !r.DryRun {
		out.Err = retry.Policy{Attempts: 4, Max: 10 * time.Second}.Do(ctx, nil, func(ctx context.Context) error { return r.fetch(ctx, t, &out) })
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if class, _ := retry.Classify(out.Err); out.Err != nil && class == retry.Fatal {
		return out.Err
	}
	if errors.Is(out.Err, sources.ErrChanged) || errors.Is(out.Err, fs.ErrNotExist) {
		out.Err = errChanged
	}
	return r.tell(out)
}

// mostInRow is how many assets may fail one after the other: then it is not them.
const mostInRow = 50

// tell counts an outcome.
func (r *run) tell(out Outcome) error {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.Outcome(out)
	if out.Err == nil {
		r.inRow = 0
		r.manifest.Assets++
		r.manifest.Bytes += out.Size
		return nil
	}
	r.failed++
	if r.inRow++; r.inRow >= mostInRow {
		return fmt.Errorf("%d assets in a row could not be exported, the last one because of this: %w", r.inRow, out.Err)
	}
	return nil
}

// decide finds out whether this version of an asset is there already.
func (r *run) decide(ctx context.Context, t task) (Action, error) {
	size, err := r.Store.Size(ctx, t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Create, nil
	case err != nil:
		return "", stored(err)
	case size != t.object.Size:
		return Replace, nil
	}
	data, err := r.Store.Read(ctx, t.path+sidecarEnding)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Replace, nil
	case err != nil:
		return "", stored(err)
	}
	segment, _, _ := strings.Cut(string(t.object.Key), "/")
	if s, ok := readSidecar(data); ok && s.isOf(t.object, r.private[segment]) {
		return Unchanged, nil
	}
	return Replace, nil
}

// stored is an error of the store: one that does not say what it means is not tried again,
// and that something is not there that has to be is not about the asset.
func stored(err error) error {
	if _, ok := errors.AsType[retry.Classified](err); ok {
		return err
	}
	return retry.Stop(storeError{err})
}

type storeError struct{ error }

// read is an error of the library.
func read(err error) error {
	if errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		return retry.Stop(err)
	}
	return err
}

// fetch writes an asset and its sidecar.
func (r *run) fetch(ctx context.Context, t task, out *Outcome) error {
	body, err := r.Library.Open(ctx, t.object, 0)
	if err != nil {
		return read(err)
	}
	opened, ok := body.(Opened)
	if !ok {
		return retry.Stop(errors.Join(errors.New("what was opened does not say what it is"), body.Close()))
	}
	defer opened.Close() // of something that was read
	asset := opened.Asset()
	out.URL = asset.URL
	d, err := opened.Describe(ctx)
	if err != nil {
		return read(err)
	}
	checksum := sha256.New()
	content := &passing{of: r.limited(ctx, opened), into: checksum, progress: r.Progress}
	if err := r.Store.Write(ctx, t.path, asset.MIMEType, t.object.Size, content); err != nil {
		r.Progress(-content.bytes)
		if content.err != nil {
			return read(content.err)
		}
		return stored(err)
	}
	data, err := encode(newSidecar(t.object, d, asset, hex.EncodeToString(checksum.Sum(nil))))
	if err != nil {
		return retry.Stop(err)
	}
	if err := r.Store.Write(ctx, t.path+sidecarEnding, "application/json", int64(len(data)), bytes.NewReader(data)); err != nil {
		return stored(err)
	}
	return nil
}

func (r *run) limited(ctx context.Context, content io.ReadCloser) io.Reader {
	if r.Limit == nil {
		return content
	}
	return r.Limit(ctx, content)
}

// passing is content on its way into a store. It knows whether the library was to blame.
type passing struct {
	of       io.Reader
	into     hash.Hash
	progress func(int64)
	bytes    int64
	err      error
}

func (p *passing) Read(b []byte) (int, error) {
	n, err := p.of.Read(b)
	p.into.Write(b[:n])
	p.bytes += int64(n)
	p.progress(int64(n))
	if err != nil && err != io.EOF {
		p.err = err
	}
	return n, err
}
