// Package export writes a workspace as files: each asset as CATEGORY/FOLDER/NAME.EXT with a
// sidecar, and a manifest at the top. It also reads such files as a source with the same private
// categories.
//
// Readers never see an incomplete file. A file is written before its sidecar, which contains the ID
// and the version of the asset. A file with a current sidecar is not downloaded again. So an
// interrupted export resumes without a state database.
//
// An export may also contain earlier revisions of assets: see revisions.go.
package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/sources"
)

// A Library is the source of an export.
type Library interface {
	sources.Structured
	Identity() string
	// Contents lists all objects in the order of keys. It calls entered with the prefix of
	// each container before the objects in it.
	Contents(ctx context.Context, entered func(prefix sources.Key)) iter.Seq2[sources.Object, error]
	// Revisions returns the older versions of an object, the oldest first, and the current
	// revision.
	Revisions(ctx context.Context, o sources.Object) (older []sources.Object, current sources.Object, err error)
	// Open opens an object or an older version; it returns an [Opened].
	Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error)
}

// Opened is the content of an asset, with its metadata.
type Opened interface {
	io.ReadCloser
	sources.Describer
	Asset() assets.Asset
}

// A Store is the target of an export. Names contain slashes, and are safe in every store.
type Store interface {
	// Read returns a small file, or fs.ErrNotExist.
	Read(ctx context.Context, name string) ([]byte, error)
	// Size returns the size of a file in bytes, or fs.ErrNotExist.
	Size(ctx context.Context, name string) (int64, error)
	// Write creates or replaces a file of a size. The file is never visible in part, and a
	// failure changes nothing.
	Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error
	// IsEmpty reports whether there are no files that an export could overwrite.
	IsEmpty(ctx context.Context) (bool, error)
	// Folder creates a folder, if the store has folders; the top is ".".
	Folder(ctx context.Context, name string) error
}

// An Action is the action for an asset.
type Action string

// The actions.
const (
	Create    Action = "create"
	Replace   Action = "replace"   // another version of the asset exists
	Unchanged Action = "unchanged" // the file is current
)

// An Outcome is the result for an asset.
type Outcome struct {
	Key    sources.Key
	Path   string
	Asset  string // its ID
	URL    string // "" if it was not requested
	Action Action
	Size   int64
	Err    error

	// Unwritten means that the target had the content itself, and only its sidecar or earlier
	// revisions were written.
	Unwritten bool
	// Revisions counts the earlier revisions of an asset that was not unchanged, if the export
	// contains revisions.
	Revisions Revisions
}

// An Exporter exports a library into a store.
type Exporter struct {
	Library Library
	Store   Store
	Now     func() time.Time
	// Versions is the number of revisions of each asset to export, with the current one. Up to 1,
	// only the current one is exported.
	Versions int
	// Concurrency is the maximum number of parallel downloads.
	Concurrency int
	// Limit limits the rate of reading; nil for no limit.
	Limit func(ctx context.Context, content io.ReadCloser) io.ReadCloser
	// Stop, when closed, ends an export after the assets in progress.
	Stop <-chan struct{}
	// Outcome receives the result of each asset, from one goroutine at a time. Progress
	// receives the number of written bytes, from any goroutine.
	Outcome  func(Outcome)
	Progress func(bytes int64)
	// StaysPrivate receives each category that is public now, but was private in an earlier
	// export. Its folder may contain files of that export, so it stays private in the
	// manifest.
	StaysPrivate func(category string)
	// DryRun disables all writes.
	DryRun bool
}

// ErrStopped means that an export ended because of Stop.
var ErrStopped = errors.New("stopped before everything was exported")

// errChanged means that an asset was changed or deleted after it was listed.
var errChanged = errors.New("changed since it was listed; run the export again")

// An OccupiedError means that the target contains other files, which an export could overwrite.
type OccupiedError struct{ What string }

func (e *OccupiedError) Error() string {
	return "the target is not empty: it contains " + e.What
}

// admit checks that the target is empty or an export of the same library with no more revisions, and
// returns its manifest.
func (e *Exporter) admit(ctx context.Context) (Manifest, error) {
	data, err := e.Store.Read(ctx, ManifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		empty, err := e.Store.IsEmpty(ctx)
		if err == nil && !empty {
			err = &OccupiedError{"files other than an export"}
		}
		return Manifest{}, err
	case err != nil:
		return Manifest{}, err
	}
	m, err := readManifest(bytes.NewReader(data))
	switch {
	case errors.Is(err, errNoManifest):
		err = &OccupiedError{"files other than an export"}
	case err == nil && m.Source != e.Library.Identity():
		err = &OccupiedError{"an export of " + m.Source}
	case err == nil && m.Versions > max(e.Versions, 1):
		err = &VersionsError{m.Versions}
	}
	return m, err
}

// Run exports everything. Outcome receives failures of single assets, and the others are exported.
// An error concerns the whole export.
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
	// Before the first content, so that private categories are recorded even after a kill.
	if err := r.writeManifest(ctx); err != nil {
		return err
	}
	if err := r.all(ctx); err != nil {
		return err
	}
	r.manifest.Complete, r.manifest.Failed = r.failed == 0, r.failed
	return r.writeManifest(ctx)
}

// A run is one export.
type run struct {
	*Exporter
	names    *names
	private  map[string]bool // categories by their segments
	manifest Manifest
	pending  *empty // the last container, if it is empty so far

	unread    atomic.Int64 // assets in a row whose revisions could not be read
	reporting sync.Mutex   // protects the following fields and the totals in the manifest
	failed    int64
	inRow     int
}

type empty struct{ prefix, path string }

// newRun begins an export of categories into an earlier export. It keeps deleted categories of that
// export, because their files still exist and some are private.
func (e *Exporter) newRun(structure []sources.Category, before Manifest) *run {
	r := &run{Exporter: e, names: newNames(), private: map[string]bool{}}
	r.manifest = Manifest{Type: manifestType, Version: manifestVersion, Source: e.Library.Identity(), Made: e.Now().UTC().Truncate(time.Second),
		Categories: []Category{}, EmptyFolders: []string{}}
	if e.Versions > 1 {
		r.manifest.Versions = e.Versions
	}
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

// all lists all objects, and workers export them. Workers complete their assets, unless one of them
// finds an error that ends the export.
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
		case <-r.Stop: // even if a worker is ready
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

// knows returns an error if the manifest lacks the category of a prefix. A category that was
// created during the export may be private.
func (r *run) knows(prefix sources.Key) error {
	segment, folder, _ := strings.Cut(string(prefix), "/")
	if _, known := r.private[segment]; !known && folder == "" {
		return fmt.Errorf("the category %q was created during the export; run the export again", segment)
	}
	return nil
}

// enter records a container. It is empty unless the next object is in it.
func (r *run) enter(prefix sources.Key) (path string) {
	r.leave(string(prefix))
	path = r.names.enter(prefix)
	r.pending = &empty{string(prefix), path}
	return path
}

// leave records the last container as empty if the next object is not in it. Empty categories are
// in the manifest anyway.
func (r *run) leave(next string) {
	if p := r.pending; p != nil && !strings.HasPrefix(next, p.prefix) && strings.Contains(p.path, "/") {
		r.manifest.EmptyFolders = append(r.manifest.EmptyFolders, p.path)
	}
	r.pending = nil
}

// one exports an asset, and reports the outcome. An error concerns the whole export.
func (r *run) one(ctx context.Context, t task) error {
	out := Outcome{Key: t.object.Key, Path: t.path, Asset: t.object.VersionTag, Size: t.object.Size}
	known, err := r.decide(ctx, t, &out)
	if err == nil && out.Action != Unchanged {
		err = r.write(ctx, t, known, &out)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if class, _ := retry.Classify(err); err != nil && class == retry.Fatal {
		return err
	}
	if errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		err = errChanged
	}
	out.Err = err
	return r.report(out)
}

// write writes what the target lacks of an asset.
func (r *run) write(ctx context.Context, t task, known record, out *Outcome) (err error) {
	var h *history
	if r.Versions > 1 {
		if h, err = r.writeRevisions(ctx, t, known, out); err != nil {
			return err
		}
	}
	if !r.DryRun {
		if err := patiently(ctx, func(ctx context.Context) error { return r.fetch(ctx, t, known, h, out) }); err != nil {
			return err
		}
	}
	if h != nil && len(h.failed.texts) > 0 {
		return &h.failed
	}
	return nil
}

// patiently repeats an attempt after a temporary error.
func patiently(ctx context.Context, try func(context.Context) error) error {
	return retry.Policy{Attempts: 4, Max: 10 * time.Second}.Do(ctx, nil, try)
}

// mostInRow is the number of failures in a row that ends an export, because the assets are not the
// reason.
const mostInRow = 50

// report counts an outcome, and passes it to Outcome.
func (r *run) report(out Outcome) error {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.Outcome(out)
	if out.Err == nil {
		r.inRow = 0
		if out.Revisions.Older > 0 {
			r.unread.Store(0)
		}
		r.manifest.Assets++
		r.manifest.Bytes += out.Size
		return nil
	}
	r.failed++
	if e, is := errors.AsType[*RevisionsError](out.Err); is { // the asset itself was exported
		if r.inRow = 0; e.unread {
			r.unread.Add(1)
		}
		return nil
	}
	if r.inRow++; r.inRow >= mostInRow {
		return fmt.Errorf("%d assets in a row failed; the last error: %w", r.inRow, out.Err)
	}
	return nil
}

// decide sets the action for an asset, and whether only its content is current. It returns the record
// of the last export of the asset, zero if there is none.
func (r *run) decide(ctx context.Context, t task, out *Outcome) (known record, err error) {
	size, err := r.Store.Size(ctx, t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if out.Action = Create; r.Versions <= 1 {
			return record{}, nil
		}
		size = -1 // its sidecar may list revisions nevertheless
	case err != nil:
		return record{}, stored(err)
	default:
		out.Action = Replace
	}
	data, err := r.Store.Read(ctx, t.path+sidecarEnding)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record{}, nil
	case err != nil:
		return record{}, stored(err)
	}
	s, ok := readSidecar(data)
	if !ok || s.Export.ID != t.object.VersionTag {
		return record{}, nil
	}
	segment, _, _ := strings.Cut(string(t.object.Key), "/")
	out.Unwritten = size == t.object.Size && s.Export.isOf(t.object)
	if !out.Unwritten || s.Private != r.private[segment] {
		return s.Export, nil
	}
	if there, err := r.hasRevisions(ctx, t, s.Export); !there {
		return s.Export, err
	}
	out.Action = Unchanged
	return s.Export, nil
}

// stored converts an error of the store. An error without a class is not retried. fs.ErrNotExist
// does not concern the asset.
func stored(err error) error {
	if _, ok := errors.AsType[retry.Classified](err); ok {
		return err
	}
	return retry.Stop(storeError{err})
}

type storeError struct{ error }

// read converts an error of the library.
func read(err error) error {
	if errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		return retry.Stop(err)
	}
	return err
}

// fetch writes the content of an asset, unless the target has it, and the sidecar. The history is nil if
// the export has only current revisions.
func (r *run) fetch(ctx context.Context, t task, known record, h *history, out *Outcome) error {
	opened, err := r.open(ctx, t.object)
	if err != nil {
		return err
	}
	defer opened.Close() // opened for reading
	out.URL = opened.Asset().URL
	d, err := opened.Describe(ctx)
	if err != nil {
		return read(err)
	}
	checksum := known.SHA256
	if !out.Unwritten {
		if checksum, err = r.copy(ctx, opened, t.path, t.object.Size); err != nil {
			return err
		}
	}
	s := newSidecar(t.object, d, opened.Asset(), checksum)
	if h != nil {
		h.into(&s.Export, r.Versions)
	}
	data, err := encode(s)
	if err != nil {
		return retry.Stop(err)
	}
	if err := r.Store.Write(ctx, t.path+sidecarEnding, "application/json", int64(len(data)), bytes.NewReader(data)); err != nil {
		return stored(err)
	}
	return nil
}

// passing is content on its way to a store. It records errors of the library.
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
