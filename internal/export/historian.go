package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode"

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

// version returns the version of a revision: its file, or its ID after a slash, and its checksum.
func (r revision) version() string {
	return cmp.Or(r.File, "/"+r.ID) + "/" + r.SHA256
}

// cutVersion returns the file of a version, "" if it has none, and its checksum.
func cutVersion(version string) (file, checksum string) {
	at := max(0, strings.LastIndexByte(version, '/'))
	if file, checksum = version[:at], strings.TrimPrefix(version[at:], "/"); strings.HasPrefix(file, "/") {
		file = ""
	}
	return file, checksum
}

// Versions implements sources.Historian. It reads the sidecar of the object.
func (f revisionFiles) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		all, err := f.revisions(ctx, o)
		if damaged, ok := errors.AsType[*sidecarError](err); ok {
			return yield(sources.Object{Key: o.Key, Size: o.Size, Version: unknownVersion, Obstacle: sources.Unreadable.Because(damaged.Error())})
		}
		for _, r := range slices.Backward(all) {
			if err := yield(sources.Object{Key: o.Key, Size: r.Size, Time: r.Created, Version: r.version()}); err != nil {
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

// Checksum implements sources.VersionChecksums.
func (revisionFiles) Checksum(version sources.Object) string {
	_, checksum := cutVersion(version.Version)
	return checksum
}

// fail returns an error whose reason is in the export.
func (revisionFiles) fail(op string, key sources.Key, err error) error {
	return &sources.Error{Op: op, Source: "the export", Key: key, Err: err, Hint: "run assetferry export again"}
}

// A sidecarError means that a sidecar is damaged, or does not match the files. Only another export or
// another copy of it repairs that.
type sidecarError struct{ error }

func (*sidecarError) Class() retry.Class { return retry.Permanent }

// maxSidecar is the maximum size of a sidecar in bytes, as for the metadata of a migration. It has room
// for MaxVersions revisions.
const maxSidecar = 1 << 20

// revisions reads the list in the sidecar of an object. Without a sidecar, there are none.
func (f revisionFiles) revisions(ctx context.Context, of sources.Object) (all []revision, err error) {
	o, err := f.Find(ctx, of.Key+sidecarEnding)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && o.Obstacle != "":
		return nil, nil
	case err != nil:
		return nil, err
	case o.Size > maxSidecar:
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
	// People may edit the other fields.
	var s struct {
		Export *struct {
			Size      int64      `json:"size"`
			Revisions []revision `json:"revisions"`
		} `json:"assetferry"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &s); err != nil {
		return nil, &sidecarError{fmt.Errorf("its sidecar is damaged: %w", err)}
	}
	switch {
	case s.Export == nil:
		return nil, nil
	case s.Export.Size != of.Size:
		return nil, &sidecarError{fmt.Errorf("its sidecar is of a content of %d bytes", s.Export.Size)}
	case slices.ContainsFunc(s.Export.Revisions, func(r revision) bool { return !r.isValid() }):
		return nil, &sidecarError{errors.New("its sidecar lists an impossible revision")}
	}
	return s.Export.Revisions, nil
}

// isValid reports whether an export may have written this entry.
func (r revision) isValid() bool {
	const mostBytes = 1 << 50 // so that sums do not overflow
	year := r.Created.Year()
	sum, err := hex.DecodeString(r.SHA256)
	return r.Size >= 0 && r.Size <= mostBytes && (r.Created.IsZero() || year >= 1970 && year < 2262) &&
		err == nil && (len(sum) == 0 || len(sum) == sha256.Size) && !strings.ContainsFunc(r.File+r.ID, unicode.IsControl) &&
		(r.File == "" || fs.ValidPath(r.File) && path.Base(r.File) == r.File && r.File != ".")
}

// An absentError means that an export has no content for a revision. It counts as a change, because
// the other versions of the object can be migrated.
type absentError struct{}

func (absentError) Error() string        { return "the export does not contain this revision" }
func (absentError) Is(target error) bool { return target == sources.ErrChanged }

// Open implements sources.Source. An older version is a file of its own.
func (f revisionFiles) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	switch o.Version {
	case "":
		return f.exported.Open(ctx, o, offset)
	case unknownVersion:
		_, err := f.revisions(ctx, o)
		return nil, f.fail("open", o.Key, cmp.Or[error](err, &sidecarError{errors.New("its sidecar was damaged")}))
	}
	name, _ := cutVersion(o.Version)
	switch {
	case name == "":
		return nil, f.fail("open", o.Key, absentError{})
	case path.Base(name) != name:
		return nil, f.fail("open", o.Key, &sidecarError{fmt.Errorf("%q is not the name of a revision", name)})
	}
	file, err := f.Find(ctx, sources.Key(path.Join(revisionsFolder, string(o.Key), name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, f.lacks(o.Key, "is missing")
	case err != nil:
		return nil, err
	case file.Size != o.Size || file.Obstacle != "":
		return nil, f.lacks(o.Key, fmt.Sprintf("does not have %d bytes", o.Size))
	}
	return f.Source.Open(ctx, file, offset)
}

// lacks returns an error of a file that the sidecar of an object lists.
func (f revisionFiles) lacks(key sources.Key, how string) error {
	return f.fail("open", key, &sidecarError{fmt.Errorf("its file in %s %s; copy the whole export, or run assetferry export again", revisionsFolder, how)})
}
