// Package export writes a workspace as files: each asset as CATEGORY/FOLDER/NAME.EXT with a
// sidecar, and a manifest at the top. It also reads such files as a source with the same private
// categories.
//
// Readers never see an incomplete file. A file is written before its sidecar, which contains the ID
// and the version of the asset. A file with a current sidecar is not downloaded again. So an
// interrupted export resumes without a state database.
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

// A Library is the source of an export.
type Library interface {
	sources.Structured
	Identity() string
	// Contents lists all objects in the order of keys. It calls entered with the prefix of
	// each container before the objects in it.
	Contents(ctx context.Context, entered func(prefix sources.Key)) iter.Seq2[sources.Object, error]
	// Open opens an object; it returns an [Opened].
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
}

// An Exporter exports a library into a store.
type Exporter struct {
	Library Library
	Store   Store
	Now     func() time.Time
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

// admit checks that the target is empty or an export of the same library, and returns its manifest.
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
	r.manifest.Complete = r.failed == 0
	return r.writeManifest(ctx)
}

// A run is one export.
type run struct {
	*Exporter
	names    *names
	private  map[string]bool // categories by their segments
	manifest Manifest
	pending  *empty // the last container, if it is empty so far

	reporting sync.Mutex // protects the following fields and the totals in the manifest
	failed    int
	inRow     int
}

type empty struct{ prefix, path string }

// newRun begins an export of categories into an earlier export. It keeps deleted categories of that
// export, because their files still exist and some are private.
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
	return r.report(out)
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
		r.manifest.Assets++
		r.manifest.Bytes += out.Size
		return nil
	}
	r.failed++
	if r.inRow++; r.inRow >= mostInRow {
		return fmt.Errorf("%d assets in a row failed; the last error: %w", r.inRow, out.Err)
	}
	return nil
}

// decide returns the action for an asset.
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

// fetch writes an asset and its sidecar.
func (r *run) fetch(ctx context.Context, t task, out *Outcome) error {
	body, err := r.Library.Open(ctx, t.object, 0)
	if err != nil {
		return read(err)
	}
	opened, ok := body.(Opened)
	if !ok {
		return retry.Stop(errors.Join(errors.New("the opened content has no metadata"), body.Close()))
	}
	defer opened.Close() // opened for reading
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
