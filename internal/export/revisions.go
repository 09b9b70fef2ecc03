package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/sources"
)

// Earlier revisions are files below revisionsFolder, in a bucket as in a directory: a folder for each
// asset, with the path of the asset, and in it a file for each revision. The name identifies the
// revision, so that no two exports write different contents to it. The sidecar of the asset lists the
// revisions, and is written after them and after the current content.

// MaxVersions is the maximum of Exporter.Versions.
const MaxVersions = 1000

// revisionsFolder is the folder at the top with the earlier revisions.
const revisionsFolder = ".assetferry-revisions"

// Revisions counts earlier revisions of an asset, and the bytes of their contents.
type Revisions struct {
	Older, OlderBytes     int64 // at the service
	Written, WrittenBytes int64 // into the target; in a dry run those that an export would write
	Failed                int64
}

// A VersionsError means that an export contains more revisions of assets than this one would write.
type VersionsError struct {
	Versions int // of each asset
}

func (e *VersionsError) Error() string {
	return fmt.Sprintf("the target is an export with --versions %d", e.Versions)
}

// A RevisionsError means that an asset was exported, but without some of its earlier revisions. The next
// export tries these again.
type RevisionsError struct {
	names   []string
	reasons []error
}

// mostNamed is the maximum number of revisions in the text of an error.
const mostNamed = 3

func (e *RevisionsError) Error() string {
	var named []string
	for n, name := range e.names[:min(len(e.names), mostNamed)] {
		named = append(named, name+": "+reasonOf(e.reasons[n]))
	}
	text := "its earlier revisions are incomplete: " + strings.Join(named, "; ")
	if more := len(e.names) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (e *RevisionsError) add(o sources.Object, err error) {
	name := "revision " + o.Version
	if !o.Time.IsZero() {
		name += ", created " + o.Time.Format(time.DateTime)
	}
	e.names, e.reasons = append(e.names, name), append(e.reasons, err)
}

// reasonOf returns the reason why a revision was not exported.
func reasonOf(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "the service lists it, but does not serve it"
	}
	if e, ok := errors.AsType[*sources.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

// A history is what a sidecar gets about the revisions of an asset.
type history struct {
	current sources.Object // the current revision
	earlier []revision     // the oldest first
	failed  RevisionsError
	folder  string // of the files
	made    bool   // whether this run created the folder
}

// writeRevisions writes the last earlier revisions of an asset that the target lacks. An error of one
// of them does not concern the others. A dry run only counts them.
func (r *run) writeRevisions(ctx context.Context, t task, known record, out *Outcome) (*history, error) {
	h := &history{folder: path.Join(revisionsFolder, t.path)}
	var older []sources.Object
	if err := patiently(ctx, func(ctx context.Context) (err error) {
		older, h.current, err = r.Library.Revisions(ctx, t.object)
		return read(err)
	}); err != nil {
		return nil, err
	}
	out.Revisions.Older = int64(len(older))
	for _, o := range older {
		out.Revisions.OlderBytes += o.Size
	}
	for _, o := range older[max(0, len(older)-(r.Versions-1)):] {
		v, err := r.writeRevision(ctx, h, known, o, out)
		if class, _ := retry.Classify(err); err != nil && (class == retry.Fatal || ctx.Err() != nil) {
			return nil, err
		} else if err != nil {
			v.Missing = true
			h.failed.add(o, err)
		}
		h.earlier = append(h.earlier, v)
	}
	out.Revisions.Failed = int64(len(h.failed.names))
	return h, r.keep(ctx, h, known)
}

// writeRevision writes one revision, unless the target has it.
func (r *run) writeRevision(ctx context.Context, h *history, known record, o sources.Object, out *Outcome) (revision, error) {
	v := revision{ID: o.Version, Size: o.Size, Created: o.Time}
	if at := slices.IndexFunc(known.Revisions, func(k revision) bool { return k.ID == o.Version && k.Size == o.Size }); at >= 0 {
		there, err := r.has(ctx, h.folder, known.Revisions[at])
		if there || err != nil {
			return known.Revisions[at], err
		}
	}
	name := fileName(h.folder, o)
	if !r.DryRun {
		if err := h.make(ctx, r.Store); err != nil {
			return v, err
		}
		if err := patiently(ctx, func(ctx context.Context) error {
			opened, err := r.open(ctx, o)
			if err != nil {
				return err
			}
			defer opened.Close() // opened for reading
			v.SHA256, err = r.copy(ctx, opened, path.Join(h.folder, name), o.Size)
			return err
		}); err != nil {
			return v, err
		}
	}
	v.File = name
	out.Revisions.Written++
	out.Revisions.WrittenBytes += o.Size
	return v, nil
}

// make creates the folder before the first write.
func (h *history) make(ctx context.Context, s Store) error {
	if h.made {
		return nil
	}
	if err := s.Folder(ctx, h.folder); err != nil {
		return stored(err)
	}
	h.made = true
	return nil
}

// has reports whether the target has the file of a revision. An export that is copied or cleaned up may
// lack some.
func (r *run) has(ctx context.Context, folder string, v revision) (bool, error) {
	if v.File == "" || v.SHA256 == "" {
		return false, nil
	}
	size, err := r.Store.Size(ctx, path.Join(folder, v.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, stored(err)
	}
	return err == nil && size == v.Size, nil
}

// hasRevisions reports whether the target has all revisions of an asset that did not change.
func (r *run) hasRevisions(ctx context.Context, t task, known record) (bool, error) {
	if r.Versions <= 1 {
		return true, nil
	}
	if known.Versions < r.Versions {
		return false, nil
	}
	for _, v := range known.Revisions {
		if v.isWithoutFile() {
			continue
		}
		if there, err := r.has(ctx, path.Join(revisionsFolder, t.path), v); !there {
			return false, err
		}
	}
	return true, nil
}

// keep adds the revisions that an earlier export has listed, and this one does not: some may be deleted
// at the service. The content that was current in that export is listed without a file, because a later
// migration must know which revisions are newer than what an asset has.
func (r *run) keep(ctx context.Context, h *history, known record) error {
	was := revision{ID: known.Revision, Size: known.Size, Created: known.Created, SHA256: known.SHA256}
	for _, v := range append(slices.Clone(known.Revisions), was) {
		listed := slices.ContainsFunc(h.earlier, func(e revision) bool { return e.ID == v.ID })
		if v.ID == "" || v.ID == h.current.Version || v.SHA256 == "" || listed {
			continue
		}
		there, err := r.has(ctx, h.folder, v)
		if err != nil {
			return err
		} else if !there {
			v.File = ""
		}
		h.earlier = append(h.earlier, v)
	}
	sorting.Stable(h.earlier, func(a, b revision) int { return a.Created.Compare(b.Created) })
	return nil
}

// longestExtension is the maximum length of an extension in the name of a revision, in bytes.
const longestExtension = 16

// fileName returns the name of a revision in the folder of its asset. Names sort by time.
func fileName(folder string, o sources.Object) string {
	created, extension := "unknown", path.Ext(folder)
	if !o.Time.IsZero() {
		created = o.Time.UTC().Format("20060102T150405.000Z")
	}
	if len(extension) > longestExtension {
		extension = ""
	}
	sum := sha256.Sum256([]byte(o.VersionTag + "\x00" + o.Version))
	return created + "-" + hex.EncodeToString(sum[:8]) + extension
}

// open opens an object or an older version.
func (r *run) open(ctx context.Context, o sources.Object) (Opened, error) {
	body, err := r.Library.Open(ctx, o, 0)
	if err != nil {
		return nil, read(err)
	}
	opened, ok := body.(Opened)
	if !ok {
		return nil, retry.Stop(errors.Join(errors.New("the opened content has no metadata"), body.Close()))
	}
	return opened, nil
}

// copy writes content to a file, and returns its checksum.
func (r *run) copy(ctx context.Context, opened Opened, name string, size int64) (checksum string, err error) {
	sum := sha256.New()
	content := &passing{of: r.limited(ctx, opened), into: sum, progress: r.Progress}
	if err := r.Store.Write(ctx, name, opened.Asset().MIMEType, size, content); err != nil {
		r.Progress(-content.bytes)
		if content.err != nil {
			return "", read(content.err)
		}
		return "", stored(err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (r *run) limited(ctx context.Context, content io.ReadCloser) io.Reader {
	if r.Limit == nil {
		return content
	}
	return r.Limit(ctx, content)
}
