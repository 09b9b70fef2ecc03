package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"

	"assetferry/sources"
)

// withRevisions returns the export as a source with earlier revisions, if it contains some that can be
// read.
func (e exported) withRevisions() (sources.Source, bool) {
	if e.manifest.Versions <= 1 {
		return nil, false
	}
	switch e.manifest.Revisions {
	case inBucketVersions:
		if h, ok := e.Source.(sources.Historian); ok {
			return struct {
				exported
				sources.Historian
			}{e, h}, true
		}
	case inFiles:
		if f, ok := e.Source.(finder); ok {
			return revisionFiles{e, f}, true
		}
	}
	return nil, false
}

// revisionFiles is an export with earlier revisions in files. The sidecar of an asset lists them.
type revisionFiles struct {
	exported
	finder
}

// KeepsVersions implements sources.Historian. It makes no request.
func (revisionFiles) KeepsVersions(context.Context) (bool, error) { return true, nil }

// Versions implements sources.Historian. It reads the sidecar of the object.
func (f revisionFiles) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		all, err := f.revisions(ctx, o.Key+sidecarEnding)
		for _, r := range slices.Backward(all) {
			if r.Missing {
				continue
			}
			if err := yield(sources.Object{Key: o.Key, Size: r.Size, Time: r.Created, Version: r.File}); err != nil {
				return err
			}
		}
		return err
	}, func(err error) error {
		if _, ok := errors.AsType[*sources.Error](err); ok {
			return err
		}
		return &sources.Error{Op: "list earlier revisions of", Source: "the export", Key: o.Key, Err: err}
	})
}

// revisions reads the list in a sidecar. Without a sidecar, there are none.
func (f revisionFiles) revisions(ctx context.Context, key sources.Key) (all []revision, err error) {
	o, err := f.Find(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.Obstacle != "":
		return nil, nil
	case err != nil:
		return nil, err
	case o.Size > maxManifest:
		return nil, fmt.Errorf("%s has %d bytes, more than any sidecar", key, o.Size)
	}
	r, err := f.Source.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return nil, err
	}
	var s sidecar
	if err := json.Unmarshal(data, &s); err != nil { // the file itself has a warning or fails
		return nil, fmt.Errorf("%s is not a sidecar of an export: %w", key, err)
	}
	return s.Export.Revisions, nil
}

// Open implements sources.Source. An older version is a file of its own.
func (f revisionFiles) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Version == "" {
		return f.exported.Open(ctx, o, offset)
	}
	if path.Base(o.Version) != o.Version {
		return nil, &sources.Error{Op: "open", Source: "the export", Key: o.Key, Err: fmt.Errorf("%q is not the name of a revision", o.Version)}
	}
	file, err := f.Find(ctx, sources.Key(path.Join(revisionsFolder, string(o.Key), o.Version)))
	switch {
	case err != nil:
		return nil, err
	case file.Size != o.Size || file.Obstacle != "":
		return nil, &sources.Error{Op: "open", Source: "the export", Key: file.Key, Err: sources.ErrChanged, Hint: "run the export again"}
	}
	return f.Source.Open(ctx, file, offset)
}
