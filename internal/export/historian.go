package export

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// revisionFiles is an export with earlier revisions. The sidecar of an asset lists them.
type revisionFiles struct {
	exported
	finder
}

// KeepsVersions implements sources.Historian. It makes no request.
func (revisionFiles) KeepsVersions(context.Context) (bool, error) { return true, nil }

// unknownVersion is the version of an object whose sidecar cannot be used.
const unknownVersion = "unknown"

// noFile is the beginning of the version of a revision without a file. The name of a file never begins
// with it.
const noFile = "-"

// Versions implements sources.Historian. It reads the sidecar of the object.
func (f revisionFiles) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		all, err := f.revisions(ctx, o.Key+sidecarEnding)
		if damaged, ok := errors.AsType[*sidecarError](err); ok {
			return yield(sources.Object{Key: o.Key, Version: unknownVersion, Obstacle: sources.Unreadable.Because(damaged.Error())})
		}
		for _, r := range slices.Backward(all) {
			version := r.File
			if version == "" {
				version = noFile + r.ID
			}
			if err := yield(sources.Object{Key: o.Key, Size: r.Size, Time: r.Created, Version: version, VersionTag: r.SHA256}); err != nil {
				return err
			}
		}
		return err
	}, func(err error) error {
		if _, ok := errors.AsType[*sources.Error](err); ok {
			return err
		}
		return f.fail("list earlier revisions of", o.Key, err)
	})
}

// HasContent implements sources.VersionContents by the checksum in the sidecar.
func (revisionFiles) HasContent(version sources.Object, checksum []byte) bool {
	return version.VersionTag == hex.EncodeToString(checksum)
}

// fail returns an error whose reason is in the export.
func (revisionFiles) fail(op string, key sources.Key, err error) error {
	return &sources.Error{Op: op, Source: "the export", Key: key, Err: err, Hint: "run assetferry export again"}
}

// A sidecarError means that a sidecar is damaged. Only another export repairs it.
type sidecarError struct{ error }

func (*sidecarError) Class() retry.Class { return retry.Permanent }

// revisions reads the list in a sidecar. Without a sidecar, there are none.
func (f revisionFiles) revisions(ctx context.Context, key sources.Key) (all []revision, err error) {
	o, err := f.Find(ctx, key)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.Obstacle != "":
		return nil, nil
	case err != nil:
		return nil, err
	case o.Size > maxManifest:
		return nil, &sidecarError{fmt.Errorf("its sidecar has %d bytes, more than any sidecar of an export", o.Size)}
	}
	r, err := f.Source.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var s sidecar
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, &sidecarError{fmt.Errorf("its sidecar is damaged: %w", err)}
	}
	return s.Export.Revisions, nil
}

// An absentError means that an export has no content for a revision. It counts as a change, because
// the other versions of the object can be migrated.
type absentError struct{}

func (absentError) Error() string        { return "the export does not contain this revision" }
func (absentError) Is(target error) bool { return target == sources.ErrChanged }

// Open implements sources.Source. An older version is a file of its own.
func (f revisionFiles) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	switch {
	case o.Version == "":
		return f.exported.Open(ctx, o, offset)
	case o.Version == unknownVersion:
		return nil, f.fail("open", o.Key, &sidecarError{errors.New("its sidecar, which lists its earlier revisions, is damaged")})
	case o.Version[:1] == noFile:
		return nil, f.fail("open", o.Key, absentError{})
	case path.Base(o.Version) != o.Version:
		return nil, f.fail("open", o.Key, &sidecarError{fmt.Errorf("%q is not the name of a revision", o.Version)})
	}
	file, err := f.Find(ctx, sources.Key(path.Join(revisionsFolder, string(o.Key), o.Version)))
	switch {
	case err != nil:
		return nil, err
	case file.Size != o.Size || file.Obstacle != "":
		return nil, f.fail("open", file.Key, sources.ErrChanged)
	}
	return f.Source.Open(ctx, file, offset)
}
