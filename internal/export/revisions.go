package export

import (
	"cmp"
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
	"assetferry/sources"
)

// Earlier revisions are files below revisionsFolder, in a bucket as in a directory: a folder for each
// asset, with the path of the asset, and in it a file for each revision. The name identifies the
// revision, so that no two exports write different contents to it. The sidecar of the asset lists the
// revisions, and is written after them and after the current content.

// MaxVersions is the maximum of Exporter.Versions, and of the revisions in a sidecar.
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
	texts  []string
	unread bool // not all of them are only unknown to the service
}

// mostNamed is the maximum number of revisions in the text of an error.
const mostNamed = 3

func (e *RevisionsError) Error() string {
	text := "its earlier revisions are incomplete: " + strings.Join(e.texts[:min(len(e.texts), mostNamed)], "; ")
	if more := len(e.texts) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// add adds a revision that was not exported.
func (e *RevisionsError) add(o sources.Object, err error) {
	name := "revision " + o.Version
	if !o.Time.IsZero() {
		name += ", created " + o.Time.Format(time.DateTime)
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.texts = append(e.texts, name+": the service lists it, but does not serve it")
		return
	}
	e.texts, e.unread = append(e.texts, name+": "+reasonOf(err)), true
}

// reasonOf returns an error of the library without the object.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

// A history is what a sidecar gets about the revisions of an asset.
type history struct {
	current sources.Object // the current revision; zero if it is unknown
	earlier []revision     // the oldest first
	failed  RevisionsError
	inRow   int // failures up to now
	folder  string
	made    bool // whether this run created the folder
}

// writeRevisions writes the last earlier revisions of an asset that the target lacks. An error of one
// of them does not concern the others. A dry run only counts them.
func (r *run) writeRevisions(ctx context.Context, t task, known record, out *Outcome) (*history, error) {
	h := &history{folder: path.Join(revisionsFolder, t.path)}
	var older []sources.Object
	err := errLeft
	if r.unread.Load() < mostInRow {
		err = patiently(ctx, func(ctx context.Context) (err error) {
			older, h.current, err = r.Library.Revisions(ctx, t.object)
			return read(err)
		})
	}
	switch {
	case endsExport(ctx, err):
		return nil, err
	case err != nil: // a deleted asset shows when it is opened
		h.failed = RevisionsError{[]string{"they were not listed: " + reasonOf(err)}, true}
		if out.Unwritten {
			h.current = sources.Object{Version: known.Revision, Time: known.Created}
		}
	}
	out.Revisions.Older = int64(len(older))
	for _, o := range older {
		out.Revisions.OlderBytes += o.Size
	}
	for _, o := range older[max(0, len(older)-(r.Versions-1)):] {
		v, err := r.writeRevision(ctx, h, known, o, out)
		if endsExport(ctx, err) {
			return nil, err
		}
		if h.inRow++; err == nil || errors.Is(err, fs.ErrNotExist) {
			h.inRow = 0
		}
		if err != nil {
			h.failed.add(o, err)
		}
		h.earlier = append(h.earlier, v)
	}
	err = r.merge(ctx, h, known)
	out.Revisions.Failed = int64(len(h.failed.texts))
	return h, err
}

// into completes the record of a sidecar. Without the number of versions, the next export tries again.
func (h *history) into(e *record, versions int) {
	e.Revision, e.Created, e.Revisions = h.current.Version, h.current.Time, h.earlier
	if len(h.failed.texts) == 0 {
		e.Versions = versions
	}
}

// endsExport reports whether an error concerns more than one revision.
func endsExport(ctx context.Context, err error) bool {
	class, _ := retry.Classify(err)
	return err != nil && (class == retry.Fatal || ctx.Err() != nil)
}

// mostUnread is the number of revisions of an asset in a row that could not be read, after which the
// others are left for the next export.
const mostUnread = 5

// errLeft means that a revision was not tried, or all of an asset after those of mostInRow assets.
var errLeft = errors.New("not tried, because others before failed")

// writeRevision writes one revision, unless the target has it.
func (r *run) writeRevision(ctx context.Context, h *history, known record, o sources.Object, out *Outcome) (revision, error) {
	v := revision{ID: o.Version, Size: o.Size, Created: o.Time}
	if at := slices.IndexFunc(known.Revisions, func(k revision) bool { return k.ID == o.Version && k.Size == o.Size }); at >= 0 {
		there, err := r.has(ctx, h.folder, known.Revisions[at])
		if there || err != nil {
			return known.Revisions[at], err
		}
	}
	if h.inRow >= mostUnread {
		return v, errLeft
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
		if v.File == "" { // it had only been the current one
			continue
		}
		if there, err := r.has(ctx, path.Join(revisionsFolder, t.path), v); !there {
			return false, err
		}
	}
	return true, nil
}

// merge completes the list of revisions with those of an earlier export. Some may be deleted at the
// service. The content that was current in that export is listed without a file, because a later
// migration must know which revisions are newer than what an asset has. The order is that in which they
// became current, as far as exports have seen it: a revision that was restored keeps its old time.
func (r *run) merge(ctx context.Context, h *history, known record) error {
	was := revision{ID: known.Revision, Size: known.Size, Created: known.Created, SHA256: known.SHA256}
	before := slices.DeleteFunc(slices.Clone(known.Revisions), func(v revision) bool { return v.ID == was.ID })
	before = slices.DeleteFunc(append(before, was), func(v revision) bool { return v.ID == "" || v.ID == h.current.Version })
	var all []revision
	for _, v := range before {
		if at := find(h.earlier, v.ID); at >= 0 {
			now := h.earlier[at]
			now.SHA256 = cmp.Or(now.SHA256, v.SHA256) // it failed, but its content was known
			all = append(all, now)
			continue
		}
		there, err := r.has(ctx, h.folder, v)
		switch {
		case err != nil:
			return err
		case v.SHA256 == "":
			continue
		case !there && v.File != "":
			h.failed.texts = append(h.failed.texts, "revision "+v.ID+": its file has disappeared from the export")
			v.File = ""
		}
		all = append(all, v)
	}
	for n, v := range slices.Backward(h.earlier) {
		if find(before, v.ID) < 0 {
			all = slices.Insert(all, firstOf(all, h.earlier[n+1:]), v)
		}
	}
	h.earlier = all[max(0, len(all)-MaxVersions):]
	return nil
}

// firstOf returns the position of the first of some revisions in a list, its end if there is none.
func firstOf(all, some []revision) int {
	if at := slices.IndexFunc(all, func(v revision) bool { return find(some, v.ID) >= 0 }); at >= 0 {
		return at
	}
	return len(all)
}

// find returns the position of a revision, -1 if there is none.
func find(all []revision, id string) int {
	return slices.IndexFunc(all, func(v revision) bool { return v.ID == id })
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
