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

	"assetferry/internal/sorting"
	"assetferry/sources"
)

// Earlier revisions are written before the current one, the oldest first, and the sidecar last. A
// bucket keeps them as versions of the file: the mark of its newest version names the last revision
// that was written, so no revision is written twice. A directory keeps them as files below
// revisionsFolder, whose names contain the time and identify the revision.

// MaxVersions is the maximum of Exporter.Versions: a sidecar lists the revisions of its asset.
const MaxVersions = 1000

// revisionsFolder is the folder at the top of a directory with the earlier revisions. It has a folder
// for each asset, with the path of the asset.
const revisionsFolder = ".assetferry-revisions"

// Revisions counts earlier revisions of an asset, and the bytes of their contents.
type Revisions struct {
	Older, OlderBytes     int64 // at the service
	Written, WrittenBytes int64 // into the target; in a dry run those that an export would write
	Missing               int64 // listed by the service, but not served
}

// A Versioned store keeps the former content of a file that is replaced.
type Versioned interface {
	Store
	// KeepsNewVersions reports whether this is really so.
	KeepsNewVersions(ctx context.Context) (bool, error)
	// Latest returns the mark of the newest version of a file, or fs.ErrNotExist.
	Latest(ctx context.Context, name string) (mark string, err error)
	// WriteVersion is Write with a mark. It sends the version only once, and may have written
	// it in spite of an error.
	WriteVersion(ctx context.Context, name, contentType, mark string, size int64, content io.Reader) error
}

// A hasher is a store that computes checksums of its files.
type hasher interface {
	Checksum(ctx context.Context, name string) (string, error)
}

// ErrUnversioned means that a bucket does not keep versions.
var ErrUnversioned = errors.New("the bucket does not keep versions of objects")

// A VersionsError means that an export contains other revisions of assets than this one would write.
type VersionsError struct {
	Versions int // of each asset; 0 if the export contains only current revisions
}

func (e *VersionsError) Error() string {
	if e.Versions == 0 {
		return "the target is an export without earlier revisions, and a bucket cannot get them later"
	}
	return fmt.Sprintf("the target is an export with --versions %d", e.Versions)
}

// A NotServedError means that an asset was exported, but without some of its earlier revisions: the
// service lists them, but does not serve their content.
type NotServedError struct{ revisions []revision }

// mostNamed is the number of revisions in the text of an error.
const mostNamed = 3

func (e *NotServedError) Error() string {
	var named []string
	for _, r := range e.revisions[:min(len(e.revisions), mostNamed)] {
		named = append(named, nameOf(r.ID, r.Created))
	}
	text := "the service lists, but does not serve: " + strings.Join(named, "; ")
	if more := len(e.revisions) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func nameOf(id string, created time.Time) string {
	if created.IsZero() {
		return "revision " + id
	}
	return fmt.Sprintf("revision %s, created %s", id, created.Format(time.DateTime))
}

// A RevisionError is the error of an earlier revision. The next export tries it again.
type RevisionError struct {
	Revision string // its ID, and the time of its creation
	Err      error
}

func (e *RevisionError) Error() string { return e.Revision + ": " + e.Err.Error() }
func (e *RevisionError) Unwrap() error { return e.Err }

// versioned returns the store if it keeps versions of files.
func (e *Exporter) versioned() (Versioned, bool) {
	v, ok := e.Store.(Versioned)
	return v, ok
}

// checkVersioned checks that a bucket keeps the revisions.
func (e *Exporter) checkVersioned(ctx context.Context) error {
	v, ok := e.versioned()
	if e.Versions <= 1 || !ok {
		return nil
	}
	kept, err := v.KeepsNewVersions(ctx)
	if err == nil && !kept {
		err = ErrUnversioned
	}
	return err
}

// checkVersions refuses to add to an export with other revisions: a bucket gets no versions between
// others, and without them a file of an asset would lose its history.
func (e *Exporter) checkVersions(m Manifest) error {
	wanted, _ := e.kept()
	_, bucket := e.versioned()
	if wanted < m.Versions || bucket && wanted > m.Versions {
		return &VersionsError{m.Versions}
	}
	return nil
}

// kept returns the values of the manifest.
func (e *Exporter) kept() (versions int, form string) {
	if e.Versions <= 1 {
		return 0, ""
	}
	if _, ok := e.versioned(); ok {
		return e.Versions, inBucketVersions
	}
	return e.Versions, inFiles
}

// A history is what an export does with the revisions of an asset.
type history struct {
	task
	run     *run
	older   []sources.Object // the last ones that belong to the export, the oldest first
	current sources.Object   // the current revision
	known   record           // of the last export of the asset; zero if there is none

	from     int  // older[from:] is not yet in a bucket
	write    bool // the target lacks the current content
	tried    bool // it may have been written
	unserved []revision
	files    []revision // in a directory
}

// withRevisions exports an asset with its earlier revisions, or counts them in a dry run.
func (r *run) withRevisions(ctx context.Context, t task, out *Outcome) error {
	h := &history{task: t, run: r}
	if err := patiently(ctx, func(ctx context.Context) error { return h.load(ctx, out) }); err != nil {
		return err
	}
	write := h.writeFiles
	if _, ok := r.versioned(); ok {
		write = h.writeVersions
	}
	err := write(ctx, out)
	if out.Unwritten = !h.write; err != nil || r.DryRun {
		return err
	}
	if err := patiently(ctx, func(ctx context.Context) error { return r.fetch(ctx, t, out, h) }); err != nil {
		return err
	}
	if len(h.unserved) > 0 {
		out.Revisions.Missing = int64(len(h.unserved))
		return &NotServedError{h.unserved}
	}
	return nil
}

// load lists the revisions, and finds what the target has.
func (h *history) load(ctx context.Context, out *Outcome) error {
	older, current, err := h.run.Library.Revisions(ctx, h.object)
	if err != nil {
		return read(err)
	}
	out.Revisions = Revisions{Older: int64(len(older))}
	for _, o := range older {
		out.Revisions.OlderBytes += o.Size
	}
	h.older, h.current = older[max(0, len(older)-(h.run.Versions-1)):], current
	if err := h.loadSidecar(ctx); err != nil {
		return err
	}
	store, ok := h.run.versioned()
	if !ok {
		return h.lookAtFile(ctx)
	}
	mark, err := store.Latest(ctx, h.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stored(err)
	}
	h.from, h.write = rest(mark, h.object.VersionTag, h.older, h.current)
	return nil
}

func (h *history) loadSidecar(ctx context.Context) error {
	data, err := h.run.Store.Read(ctx, h.path+sidecarEnding)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return stored(err)
	}
	if s, ok := readSidecar(data); ok && s.Export.ID == h.object.VersionTag {
		h.known = s.Export
	}
	return nil
}

// lookAtFile finds whether the file of a directory has the current content.
func (h *history) lookAtFile(ctx context.Context) error {
	size, err := h.run.Store.Size(ctx, h.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stored(err)
	}
	k := h.known
	h.write = err != nil || size != h.object.Size || k.ID == "" || k.Size != size || !k.Modified.Equal(h.object.Time) || k.SHA256 == ""
	return nil
}

// knownChecksum returns the checksum of the current content from the last export, "" if it had another
// content.
func (h *history) knownChecksum() string {
	if _, bucket := h.run.versioned(); bucket && h.known.Revision != h.current.Version {
		return ""
	}
	return h.known.SHA256
}

// describe adds the revisions to a sidecar.
func (h *history) describe(s *sidecar) {
	if h == nil {
		return
	}
	s.Export.Versions, s.Export.Revision = h.run.Versions, h.current.Version
	s.Export.Revisions = append(h.files, h.unserved...)
	sorting.Stable(s.Export.Revisions, func(a, b revision) int { return a.Created.Compare(b.Created) })
}

// each writes one revision, and counts it. It reports whether the service serves the revision.
func (h *history) each(ctx context.Context, o sources.Object, out *Outcome, write func(context.Context, Opened) error) (served bool, err error) {
	if served = true; !h.run.DryRun {
		err = patiently(ctx, func(ctx context.Context) error {
			opened, err := h.run.open(ctx, o)
			if errors.Is(err, fs.ErrNotExist) {
				served = false
				return nil
			} else if err != nil {
				return err
			}
			defer opened.Close() // opened for reading
			return write(ctx, opened)
		})
	}
	switch {
	case err != nil:
		return false, &RevisionError{nameOf(o.Version, o.Time), err}
	case !served:
		h.unserved = append(h.unserved, revision{ID: o.Version, Size: o.Size, Created: o.Time, Missing: true})
		return false, nil
	}
	out.Revisions.Written++
	out.Revisions.WrittenBytes += o.Size
	return true, nil
}

// writeFiles writes the revisions that a directory does not have.
func (h *history) writeFiles(ctx context.Context, out *Outcome) error {
	folder, made := path.Join(revisionsFolder, h.path), false
	for _, o := range h.older {
		r := revision{ID: o.Version, Size: o.Size, Created: o.Time, File: h.fileName(o)}
		name := path.Join(folder, r.File)
		present, err := h.present(ctx, name, &r)
		if err != nil {
			return &RevisionError{nameOf(o.Version, o.Time), err}
		}
		if present {
			h.files = append(h.files, r)
			continue
		}
		if !made {
			if err := h.run.folder(ctx, folder); err != nil {
				return stored(err)
			}
			made = true
		}
		served, err := h.each(ctx, o, out, func(ctx context.Context, opened Opened) (err error) {
			r.SHA256, err = h.run.copy(ctx, opened, func(content io.Reader) error { return h.run.Store.Write(ctx, name, "", o.Size, content) })
			return err
		})
		if err != nil {
			return err
		}
		if served {
			h.files = append(h.files, r)
		}
	}
	return nil
}

// present reports whether a directory has a revision, and completes its checksum.
func (h *history) present(ctx context.Context, name string, r *revision) (bool, error) {
	size, err := h.run.Store.Size(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, stored(err)
	case size != r.Size:
		return false, nil
	}
	if at := slices.IndexFunc(h.known.Revisions, func(k revision) bool { return k.File == r.File && k.SHA256 != "" }); at >= 0 {
		r.SHA256 = h.known.Revisions[at].SHA256
		return true, nil
	}
	store, ok := h.run.Store.(hasher)
	if !ok || h.run.DryRun {
		return ok, nil
	}
	if r.SHA256, err = store.Checksum(ctx, name); err != nil {
		return false, stored(err)
	}
	return true, nil
}

// longestExtension is the maximum length of an extension in the name of a revision, in bytes.
const longestExtension = 16

// fileName returns the name of a revision in a directory. Names sort by time.
func (h *history) fileName(o sources.Object) string {
	created, extension := "unknown", path.Ext(h.path)
	if !o.Time.IsZero() {
		created = o.Time.UTC().Format("20060102T150405.000Z")
	}
	if len(extension) > longestExtension {
		extension = ""
	}
	return created + "-" + identifier(h.object.VersionTag, o.Version)[:16] + extension
}

// identifier returns a text for the revision of an asset that is valid in names and headers.
func identifier(asset, revision string) string {
	sum := sha256.Sum256([]byte(asset + "\x00" + revision))
	return hex.EncodeToString(sum[:16])
}

// writeVersions writes the revisions that a bucket does not have.
func (h *history) writeVersions(ctx context.Context, out *Outcome) error {
	store, _ := h.run.versioned()
	if err := h.findUnserved(ctx); err != nil {
		return err
	}
	for _, o := range h.older[h.from:] {
		mark, tried := markOf(h.object.VersionTag, o, o.Time), false
		_, err := h.each(ctx, o, out, func(ctx context.Context, opened Opened) error {
			if tried {
				if there, err := h.isLatest(ctx, mark); err != nil || there {
					return err
				}
			}
			tried = true
			_, err := h.run.copy(ctx, opened, func(content io.Reader) error {
				return store.WriteVersion(ctx, h.path, opened.Asset().MIMEType, mark, o.Size, content)
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isLatest reports whether the newest version in a bucket has a mark.
func (h *history) isLatest(ctx context.Context, mark string) (bool, error) {
	store, _ := h.run.versioned()
	latest, err := store.Latest(ctx, h.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, stored(err)
	}
	return err == nil && latest == mark, nil
}

// findUnserved finds revisions that a bucket should have, but that the service did not serve: those of
// the last export, and those of one that was interrupted before it wrote the sidecar.
func (h *history) findUnserved(ctx context.Context) error {
	complete := slices.IndexFunc(h.older, func(o sources.Object) bool { return o.Version == h.known.Revision })
	if h.known.Revision != "" && h.known.Revision == h.current.Version {
		complete = h.from
	}
	for n, o := range h.older[:h.from] {
		known := slices.IndexFunc(h.known.Revisions, func(r revision) bool { return r.ID == o.Version && r.Missing })
		served := true
		if known < 0 && n > complete && !h.run.DryRun {
			var err error
			if served, err = h.isServed(ctx, o); err != nil {
				return &RevisionError{nameOf(o.Version, o.Time), err}
			}
		}
		if known >= 0 || !served {
			h.unserved = append(h.unserved, revision{ID: o.Version, Size: o.Size, Created: o.Time, Missing: true})
		}
	}
	return nil
}

func (h *history) isServed(ctx context.Context, o sources.Object) (served bool, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		opened, err := h.run.open(ctx, o)
		if err != nil {
			return err
		}
		return opened.Close()
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// look finds, before a repetition, whether a bucket has got the current content.
func (h *history) look(ctx context.Context) error {
	if !h.tried {
		return nil
	}
	there, err := h.isLatest(ctx, h.currentMark())
	if there {
		h.write = false
	}
	return err
}

func (h *history) currentMark() string {
	return markOf(h.object.VersionTag, h.current, newest(slices.Concat(h.older, []sources.Object{h.current})))
}

// writeCurrent writes the current content.
func (h *history) writeCurrent(ctx context.Context, contentType string, content io.Reader) error {
	store, ok := h.run.versioned()
	if !ok {
		return h.run.Store.Write(ctx, h.path, contentType, h.object.Size, content)
	}
	h.tried = true
	return store.WriteVersion(ctx, h.path, contentType, h.currentMark(), h.object.Size, content)
}

// newest returns the time of the newest of some revisions.
func newest(all []sources.Object) (t time.Time) {
	for _, o := range all {
		if o.Time.After(t) {
			t = o.Time
		}
	}
	return t
}

// markOf returns the mark of a version in a bucket: its asset, its revision, and the time of the newest
// revision that was written so far. That is another revision if a former one was made current again.
func markOf(asset string, revision sources.Object, until time.Time) string {
	return strings.Join([]string{identifier(asset, ""), identifier(asset, revision.Version), timeText(until)}, ".")
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// rest returns which revisions a bucket does not have yet, by the mark of its newest version: older from
// a position on, and whether the current one. Revisions that were deleted at the service do not change
// it.
func rest(mark, asset string, older []sources.Object, current sources.Object) (from int, write bool) {
	parts := strings.SplitN(mark, ".", 3)
	if len(parts) != 3 || parts[0] != identifier(asset, "") {
		return 0, true
	}
	until, err := time.Parse(time.RFC3339Nano, parts[2])
	if err != nil {
		until = time.Time{} // unknown
	}
	last := slices.IndexFunc(older, func(o sources.Object) bool { return identifier(asset, o.Version) == parts[1] })
	for from < len(older) && has(older, from, last, until) {
		from++
	}
	return from, from < len(older) || parts[1] != identifier(asset, current.Version)
}

// has reports whether a bucket has the n-th revision, if it has the one at position last, -1 for
// another one, and all until a time. Revisions may have the same time.
func has(older []sources.Object, n, last int, until time.Time) bool {
	if o := older[n]; !o.Time.Equal(until) {
		return o.Time.Before(until)
	}
	return last < 0 || n <= last || older[last].Time.Before(until)
}
