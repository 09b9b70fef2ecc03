package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/local"
)

// replace gives an asset a new content.
func (w *world) replace(id, content string) {
	w.Helper()
	_, err := w.client.Replace(w.Context(), id, assets.Replacement{Filename: "x.txt", Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }})
	must(w, err)
}

// histories fills a world with assets that have revisions, and returns their IDs by name.
func histories(w *world) map[string]string {
	w.Helper()
	c := w.category("Open", false)
	ids := map[string]string{}
	for n, name := range []string{"a", "b", "c"} {
		ids[name] = w.upload(c, "", name+".txt", name+"0")
		for version := range 2 * n {
			w.replace(ids[name], fmt.Sprint(name, version+1))
		}
	}
	return ids
}

func withVersions(n int) func(*Exporter) { return func(e *Exporter) { e.Versions = n } }

// TestRevisionsInFiles verifies that a directory gets the last revisions, that a second export writes
// nothing, that the source reads them again, and that its listing does not contain them.
func TestRevisionsInFiles(t *testing.T) {
	w := newWorld(t)
	histories(w)
	dry, err := w.export(withVersions(3), func(e *Exporter) { e.DryRun = true })
	must(t, err)
	if len(w.files()) > 0 {
		t.Error("a dry run wrote something")
	}
	r, err := w.export(withVersions(3))
	must(t, err)
	for name, want := range map[string]Revisions{"a": {}, "b": {2, 4, 2, 4, 0}, "c": {4, 8, 2, 4, 0}} {
		for _, of := range []*recorder{dry, r} {
			if got := of.outcomes["Open/"+name+".txt"].Revisions; got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
	files := w.files()
	if got := revisionsIn(files); !slices.Equal(got, []string{"b.txt b0", "b.txt b1", "c.txt c2", "c.txt c3"}) || files["Open/c.txt"] != "c4" {
		t.Errorf("revisions: %q, current %q", got, files["Open/c.txt"])
	}
	r, err = w.export(withVersions(3), func(e *Exporter) { e.Library = unopened{e.Library} })
	must(t, err)
	if diff := cmp.Diff(map[Action]int{Unchanged: 3}, r.actions()); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"Open/a.txt": "a0:", "Open/b.txt": "b2: b1 b0", "Open/c.txt": "c4: c3 c2"}
	if diff := cmp.Diff(want, w.read()); diff != "" {
		t.Error(diff)
	}
	r, err = w.export(withVersions(9))
	must(t, err)
	if got := r.outcomes["Open/c.txt"]; got.Revisions != (Revisions{4, 8, 2, 4, 0}) || !got.Unwritten {
		t.Errorf("more versions: %+v", got)
	}
	want["Open/c.txt"] = "c4: c3 c2 c1 c0"
	if diff := cmp.Diff(want, w.read()); diff != "" {
		t.Error(diff)
	}
	_, err = w.export()
	if e, ok := errors.AsType[*VersionsError](err); !ok || e.Versions != 9 {
		t.Errorf("without revisions: %v", err)
	}
}

// revisionsIn returns the revisions in a directory, in the order of their names.
func revisionsIn(files map[string]string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, revisionsFolder) {
			found = append(found, filepath.Base(filepath.Dir(name))+" "+files[name])
		}
	}
	return found
}

// read reads the export as a source: the content of each object but the sidecars, and its older
// versions.
func (w *world) read() map[string]string {
	w.Helper()
	known := w.opened()
	found := map[string]string{}
	content := func(o sources.Object) string {
		r, err := known.Open(w.Context(), o, 0)
		if o.Version != "" && errors.Is(err, sources.ErrChanged) {
			return "(absent)"
		}
		must(w, err)
		data, err := io.ReadAll(r)
		must(w, errors.Join(err, r.Close()))
		return string(data)
	}
	for o, err := range known.Objects(w.Context(), "") {
		must(w, err)
		key := string(o.Key)
		if strings.HasSuffix(key, sidecarEnding) {
			continue
		}
		found[key] = content(o) + ":"
		for v, err := range known.(sources.Historian).Versions(w.Context(), o) {
			must(w, err)
			found[key] += " " + content(v)
		}
	}
	return found
}

// TestListsAroundRevisions verifies that a listing omits the revisions wherever it begins.
func TestListsAroundRevisions(t *testing.T) {
	w := newWorld(t)
	histories(w)
	w.upload(w.category("!first", false), "", "x.txt", "x")
	w.upload(w.category(revisionsFolder, false), "", "y.txt", "y")
	_, err := w.export(withVersions(3))
	must(t, err)
	known := w.opened()
	var all []sources.Key
	for o, err := range known.Objects(t.Context(), "") {
		must(t, err)
		all = append(all, o.Key)
	}
	if len(all) != 10 || slices.ContainsFunc(all, isRevision) {
		t.Fatalf("%q", all)
	}
	for n, after := range append([]sources.Key{"", revisionsFolder, revisionsFolder + "/Open", lastRevision}, all...) {
		var want, got []sources.Key
		for _, key := range all {
			if key > after {
				want = append(want, key)
			}
		}
		for o, err := range known.Objects(t.Context(), after) {
			must(t, err)
			got = append(got, o.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: after %q: %q, want %q", n, after, got, want)
		}
	}
	for range known.Objects(t.Context(), "") {
		break
	}
}

// TestRevisionsBreakOffAnywhere verifies that an export that breaks off at any write is completed by the
// next one, and that it is no source until then.
func TestRevisionsBreakOffAnywhere(t *testing.T) {
	w := newWorld(t)
	histories(w)
	want := map[string]string{"Open/a.txt": "a0:", "Open/b.txt": "b2: b1 b0", "Open/c.txt": "c4: c3 c2"}
	const writes = 1 + 2*3 + 4 + 1 // manifest, contents and sidecars, revisions, manifest
	for n := range writes + 1 {
		w.dir = t.TempDir()
		_, err := w.export(withVersions(3), func(e *Exporter) {
			f := &faulty{Store: e.Store}
			f.left.Store(int64(n))
			e.Store = f
		})
		if complete := n == writes; complete != (err == nil) || n > 0 && complete != (w.recognise() == nil) {
			t.Errorf("broken at %d: %v; as a source: %v", n, err, w.recognise())
		}
		r, err := w.export(withVersions(3))
		must(t, err)
		if r.actions()["failed"] > 0 {
			t.Errorf("after it broke at %d: %+v", n, r.outcomes)
		}
		if diff := cmp.Diff(want, w.read()); diff != "" {
			t.Errorf("after it broke at %d: %s", n, diff)
		}
		if files := revisionsIn(w.files()); len(files) != 4 {
			t.Errorf("%q", files)
		}
	}
}

// recognise returns the error with which the directory is refused as a source.
func (w *world) recognise() error {
	w.Helper()
	s, err := local.New(w.dir, local.Options{})
	must(w, err)
	_, err = Recognise(w.Context(), s)
	if e, is := errors.AsType[*sources.Error](err); err != nil && (!is || e.Hint == "") {
		w.Errorf("no next step: %v", err)
	}
	return err
}

// a lossy library does not serve some revisions, or fails for them.
type lossy struct {
	Library
	lost func(o sources.Object) error
}

func (l lossy) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if err := l.lost(o); err != nil {
		return nil, err
	}
	return l.Library.Open(ctx, o, offset)
}

// revisionOf returns the ID of an earlier revision of c.
func (w *world) revisionOf(id string, n int) string {
	w.Helper()
	older, _, err := w.source().Revisions(w.Context(), sources.Object{Key: "Open/c.txt", VersionTag: id})
	must(w, err)
	return older[n].Version
}

// TestFailedRevisions verifies that revisions that the service does not serve or that cannot be read keep
// nothing else from the export, that their asset fails in each export, and that they follow later.
func TestFailedRevisions(t *testing.T) {
	for _, test := range []struct {
		cause error
		text  string
	}{
		{fs.ErrNotExist, "the service lists it, but does not serve it"},
		{fs.ErrPermission, "permission denied"},
	} {
		w := newWorld(t)
		ids := histories(w)
		lost := w.revisionOf(ids["c"], 2)
		refusing := func(e *Exporter) {
			e.Library = lossy{e.Library, func(o sources.Object) error {
				if o.Version == lost {
					return &sources.Error{Op: "open", Err: test.cause}
				}
				return nil
			}}
		}
		for n := range 3 {
			r, err := w.export(withVersions(4), refusing)
			must(t, err)
			o := r.outcomes["Open/c.txt"]
			if _, ok := errors.AsType[*RevisionsError](o.Err); !ok || !strings.Contains(o.Err.Error(), lost) || !strings.HasSuffix(o.Err.Error(), test.text) || o.Revisions.Failed != 1 {
				t.Errorf("export %d: %+v", n, o)
			}
			if n > 0 && (o.Revisions.Written > 0 || !o.Unwritten || r.actions()[Unchanged] != 2) {
				t.Errorf("export %d: %+v", n, r.outcomes)
			}
		}
		if got := w.read()["Open/c.txt"]; got != "c4: c3 (absent) c1" {
			t.Errorf("it has %q", got)
		}
		if lack, ok := w.opened().(interface{ Failed() int64 }); !ok || lack.Failed() != 1 {
			t.Errorf("the export does not say what it lacks")
		}
		r, err := w.export(withVersions(4))
		must(t, err)
		if o := r.outcomes["Open/c.txt"]; o.Err != nil || o.Revisions.Written != 1 || w.read()["Open/c.txt"] != "c4: c3 c2 c1" {
			t.Errorf("served again: %+v", o)
		}
	}
}

// TestFatalRevision verifies that a full disk ends the export, and is no failure of a revision.
func TestFatalRevision(t *testing.T) {
	w := newWorld(t)
	histories(w)
	_, err := w.export(withVersions(4), func(e *Exporter) { e.Store = fullOf{e.Store} })
	if _, full := errors.AsType[fullError](err); !full {
		t.Errorf("%v", err)
	}
}

// A fullOf store has no room for revisions.
type fullOf struct{ Store }

func (f fullOf) Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error {
	if strings.HasPrefix(name, revisionsFolder) {
		return full(syscall.ENOSPC)
	}
	return f.Store.Write(ctx, name, contentType, size, content)
}

// TestMissingRevisionFiles verifies that revisions whose files disappeared are exported again.
func TestMissingRevisionFiles(t *testing.T) {
	w := newWorld(t)
	histories(w)
	_, err := w.export(withVersions(3))
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(w.dir, revisionsFolder, "Open", "c.txt")))
	r, err := w.export(withVersions(3))
	must(t, err)
	if o := r.outcomes["Open/c.txt"]; o.Revisions.Written != 2 || !o.Unwritten || r.actions()[Unchanged] != 2 {
		t.Errorf("%+v", r.outcomes)
	}
	if got := w.read()["Open/c.txt"]; got != "c4: c3 c2" {
		t.Errorf("%q", got)
	}
}

// TestListsWhatItHad verifies that an export still lists the revisions of earlier exports, and a content
// that it no longer has, in the order of their creation.
func TestListsWhatItHad(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	_, err := w.export(withVersions(2))
	must(t, err)
	for n := range 3 {
		w.replace(ids["c"], fmt.Sprint("new", n))
	}
	export := func() string {
		r, err := w.export(withVersions(2))
		must(t, err)
		if r.outcomes["Open/c.txt"].Action != Replace {
			t.Errorf("%+v", r.outcomes["Open/c.txt"])
		}
		return w.read()["Open/c.txt"]
	}
	if got := export(); got != "new2: new1 (absent) c3" { // c4 was current
		t.Errorf("%q", got)
	}
	w.replace(ids["c"], "new3")
	if got := export(); got != "new3: new2 new1 (absent) c3" {
		t.Errorf("%q", got)
	}
	must(t, os.RemoveAll(filepath.Join(w.dir, revisionsFolder, "Open", "c.txt")))
	w.replace(ids["c"], "new4")
	r, err := w.export(withVersions(2))
	must(t, err)
	if o := r.outcomes["Open/c.txt"]; o.Err == nil || !strings.Contains(o.Err.Error(), "its file has disappeared from the export") || o.Revisions.Failed != 3 {
		t.Errorf("lost files: %+v", o)
	}
	if got := w.read()["Open/c.txt"]; got != "new4: new3 (absent) (absent) (absent) (absent)" {
		t.Errorf("%q", got)
	}
	_, err = w.export(withVersions(2))
	must(t, err)
	r, err = w.export(withVersions(2))
	must(t, err)
	if r.actions()[Unchanged] != 3 {
		t.Errorf("the next export: %+v", r.outcomes)
	}
}

// TestRevisionsOfAnotherAsset verifies that an asset that takes the path of another one has its own
// revisions.
func TestRevisionsOfAnotherAsset(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	_, err := w.export(withVersions(3))
	must(t, err)
	must(t, w.client.Trash(t.Context(), ids["c"]))
	other := w.upload(w.categoryNamed("Open"), "", "c.txt", "x0")
	w.replace(other, "x1")
	_, err = w.export(withVersions(3))
	must(t, err)
	if got := w.read()["Open/c.txt"]; got != "x1: x0" {
		t.Errorf("%q", got)
	}
}

// TestTwoExports verifies that exports at the same time to the same directory write the same.
func TestTwoExports(t *testing.T) {
	w := newWorld(t)
	histories(w)
	failures := make(chan error)
	for range 2 {
		go func() {
			_, err := w.export(withVersions(3))
			failures <- err
		}()
	}
	must(t, errors.Join(<-failures, <-failures))
	want := map[string]string{"Open/a.txt": "a0:", "Open/b.txt": "b2: b1 b0", "Open/c.txt": "c4: c3 c2"}
	if diff := cmp.Diff(want, w.read()); diff != "" {
		t.Error(diff)
	}
	if files := revisionsIn(w.files()); len(files) != 4 {
		t.Errorf("%q", files)
	}
}

// TestOrderOfRevisions verifies that an export lists revisions in the order in which they became current,
// even if one was restored, or all have the same time.
func TestOrderOfRevisions(t *testing.T) {
	for _, same := range []bool{false, true} {
		w := newWorld(t)
		ids := histories(w)
		export := func(versions int) string {
			_, err := w.export(withVersions(versions), func(e *Exporter) {
				if same {
					e.Library = sameTime{e.Library}
				}
			})
			must(t, err)
			return w.read()["Open/c.txt"]
		}
		if got := export(3); got != "c4: c3 c2" {
			t.Errorf("%t: %q", same, got)
		}
		w.replace(ids["c"], "c5")
		w.replace(ids["c"], "c6")
		if got := export(3); got != "c6: c5 c4 c3 c2" {
			t.Errorf("%t: %q", same, got)
		}
		if got := export(9); got != "c6: c5 c4 c3 c2 c1 c0" {
			t.Errorf("%t, with more versions: %q", same, got)
		}
		must(t, w.client.UseRevision(t.Context(), ids["c"], w.revisionOf(ids["c"], 2)))
		if got := export(9); got != "c2: c6 c5 c4 c3 c1 c0" {
			t.Errorf("%t, with a restored one: %q", same, got)
		}
		w.replace(ids["c"], "c7")
		if got := export(9); got != "c7: c2 c6 c5 c4 c3 c1 c0" {
			t.Errorf("%t, after a restored one: %q", same, got)
		}
	}
}

// TestGapsInLists verifies that revisions between those of an earlier export are listed in order, and that
// a failure does not lose a checksum.
func TestGapsInLists(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	export := func(versions int, change ...func(*Exporter)) string {
		_, err := w.export(append(change, withVersions(versions))...)
		must(t, err)
		return w.read()["Open/c.txt"]
	}
	if got := export(2); got != "c4: c3" {
		t.Errorf("%q", got)
	}
	for n := range 4 {
		w.replace(ids["c"], fmt.Sprint("c", n+5))
	}
	if got := export(2); got != "c8: c7 (absent) c3" {
		t.Errorf("%q", got)
	}
	w.replace(ids["c"], "c9")
	refusing := func(e *Exporter) {
		refused := w.revisionOf(ids["c"], 4)
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == refused {
				return &sources.Error{Op: "open", Err: fs.ErrNotExist}
			}
			return nil
		}}
	}
	if got := export(99, refusing); got != "c9: c8 c7 c6 c5 (absent) c3 c2 c1 c0" {
		t.Errorf("%q", got)
	}
	s, ok := readSidecar([]byte(w.files()["Open/c.txt.json"]))
	sum := sha256.Sum256([]byte("c4"))
	if !ok || s.Export.Revisions[4].SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", s.Export.Revisions)
	}
	if got := export(99); got != "c9: c8 c7 c6 c5 c4 c3 c2 c1 c0" {
		t.Errorf("%q", got)
	}
}

// sameTime is a library whose revisions all have the same time.
type sameTime struct{ Library }

func (s sameTime) Revisions(ctx context.Context, o sources.Object) (older []sources.Object, current sources.Object, err error) {
	older, current, err = s.Library.Revisions(ctx, o)
	for n := range older {
		older[n].Time = current.Time
	}
	return older, current, err
}

// TestRevisionsAreNotListed verifies that an asset is exported if the service does not list its
// revisions, and that the next export lists them.
func TestRevisionsAreNotListed(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	unlisted := func(e *Exporter) { e.Library = unlisting{e.Library} }
	for n := range 2 {
		r, err := w.export(withVersions(3), unlisted)
		must(t, err)
		o := r.outcomes["Open/c.txt"]
		if o.Err == nil || !strings.Contains(o.Err.Error(), "they were not listed: file does not exist") || o.Unwritten != (n > 0) || w.files()["Open/c.txt"] != "c4" {
			t.Errorf("export %d: %+v", n, o)
		}
	}
	if got, err := w.export(withVersions(3)); err != nil || got.actions()[Replace] != 3 || w.read()["Open/c.txt"] != "c4: c3 c2" {
		t.Errorf("%v, %v", got.outcomes, err)
	}
	w.replace(ids["c"], "c5")
	_, err := w.export(withVersions(3), unlisted)
	must(t, err)
	if got := w.read()["Open/c.txt"]; got != "c5: (absent) c3 c2" {
		t.Errorf("%q", got)
	}
	_, err = w.export(withVersions(3))
	must(t, err)
	if got := w.read()["Open/c.txt"]; got != "c5: c4 c3 c2" {
		t.Errorf("%q", got)
	}
}

type unlisting struct{ Library }

func (unlisting) Revisions(context.Context, sources.Object) ([]sources.Object, sources.Object, error) {
	return nil, sources.Object{}, &sources.Error{Op: "list revisions of", Err: fs.ErrNotExist}
}

// TestManyFailedRevisions verifies that an export does not try all revisions of an asset if the first ones
// fail, and none any more if this is so for many assets, but exports all contents.
func TestManyFailedRevisions(t *testing.T) {
	w := newWorld(t)
	c := w.category("Open", false)
	id := w.upload(c, "", "a.txt", "0")
	for n := range 2 * mostUnread {
		w.replace(id, fmt.Sprint(n))
	}
	tried := 0
	r, err := w.export(withVersions(99), func(e *Exporter) {
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == "" {
				return nil
			}
			tried++
			return &sources.Error{Op: "open", Err: &sidecarError{fs.ErrPermission}}
		}}
	})
	must(t, err)
	if o := r.outcomes["Open/a.txt"]; tried != mostUnread || o.Revisions.Failed != 2*mostUnread || w.files()["Open/a.txt"] == "" {
		t.Errorf("%d tried: %+v", tried, o)
	}
	for n := range mostInRow + 20 {
		w.replace(w.upload(c, "", fmt.Sprint("b", n, ".txt"), "0"), "1")
	}
	listed := &countingLists{}
	r, err = w.export(withVersions(99), func(e *Exporter) {
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == "" {
				return nil
			}
			return &sources.Error{Op: "open", Err: &sidecarError{fs.ErrPermission}}
		}}
		listed.Library = e.Library
		e.Library, e.Concurrency = listed, 1
	})
	must(t, err)
	if n := listed.calls; n != mostInRow || r.actions()["failed"] != mostInRow+21 || w.files()[fmt.Sprint("Open/b", mostInRow+19, ".txt")] != "1" {
		t.Errorf("%d lists, %+v", n, r.actions())
	}
}

// countingLists counts the lists of revisions.
type countingLists struct {
	Library
	calls int
}

func (c *countingLists) Revisions(ctx context.Context, o sources.Object) ([]sources.Object, sources.Object, error) {
	c.calls++
	return c.Library.Revisions(ctx, o)
}

// TestLongLists verifies that a sidecar lists no more revisions than a migration reads.
func TestLongLists(t *testing.T) {
	var known record
	for n := range MaxVersions + 5 {
		known.Revisions = append(known.Revisions, revision{ID: fmt.Sprint("3f2504e0-4f89-41d3-9a0c-", n), Size: 1 << 40, Created: time.Unix(int64(n), 999999999).UTC(),
			SHA256: strings.Repeat("f", 64), File: fileName("x."+strings.Repeat("e", longestExtension-1), sources.Object{Version: fmt.Sprint(n), Time: time.Unix(int64(n), 0)})})
	}
	d := OpenDirectory(t.TempDir())
	h := &history{}
	must(t, (&run{Exporter: &Exporter{Store: d}}).merge(t.Context(), h, known))
	must(t, d.Close())
	if len(h.earlier) != MaxVersions || h.earlier[MaxVersions-1].ID != known.Revisions[MaxVersions+4].ID {
		t.Errorf("%d revisions", len(h.earlier))
	}
	data, err := encode(sidecar{Export: record{Revisions: known.Revisions[:MaxVersions]}})
	must(t, err)
	if len(data) > maxSidecar/2 {
		t.Errorf("%d revisions in %d bytes", MaxVersions, len(data))
	}
}

// opened recognises the export.
func (w *world) opened() sources.Source {
	w.Helper()
	l, err := local.New(w.dir, local.Options{})
	must(w, err)
	known, err := Recognise(w.Context(), l)
	must(w, err)
	return known
}

// TestForeignRevisions verifies that a version cannot lead to other files than revisions, and that one
// whose file is missing or another one is an error that a retry does not solve.
func TestForeignRevisions(t *testing.T) {
	w := newWorld(t)
	histories(w)
	_, err := w.export(withVersions(3))
	must(t, err)
	known := w.opened()
	open := func(size int64, version string) error {
		r, err := known.Open(t.Context(), sources.Object{Key: "Open/b.txt", Size: size, Version: version}, 0)
		if err == nil {
			must(t, r.Close())
		}
		return err
	}
	for _, version := range []string{"../../../Open/a.txt", "../../../Open/a.txt/0", "..", "../0", "/etc/passwd", "x/y", "x/y/z", ".", "./0", unknownVersion} {
		if open(2, version) == nil {
			t.Errorf("%s was opened", version)
		}
	}
	var real revision
	for name := range w.files() {
		if strings.HasPrefix(name, path.Join(revisionsFolder, "Open", "b.txt")) {
			real = revision{File: path.Base(name), Size: 2}
		}
	}
	must(t, open(real.Size, real.version()))
	lost := func(err error) {
		t.Helper()
		if class, _ := retry.Classify(err); class != retry.Permanent || errors.Is(err, sources.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v (%s)", err, class)
		}
	}
	lost(open(real.Size+1, real.version()))
	must(t, os.RemoveAll(filepath.Join(w.dir, revisionsFolder)))
	lost(open(real.Size, real.version()))
}

// TestSidecarsOfRevisions verifies that only what an export has written is accepted as a list of
// revisions, and that people may edit the rest of a sidecar. A wrong one concerns only its object.
func TestSidecarsOfRevisions(t *testing.T) {
	w := newWorld(t)
	histories(w)
	_, err := w.export(withVersions(3))
	must(t, err)
	known := w.opened().(interface {
		sources.Historian
		sources.Source
	})
	name := filepath.Join(w.dir, "Open", "b.txt.json")
	data, err := os.ReadFile(name)
	must(t, err)
	good := string(data)
	for _, test := range []struct{ old, made, wrong string }{
		{good, good, ""},
		{"{", "\ufeff{", ""},
		{`"name": "b.txt"`, `"name": "b.txt", "tags": "red", "attributes": {"year": 2020}`, ""},
		{good, `{"tags": ["a"]}`, ""},
		{good, "no JSON", "its sidecar is damaged"},
		{`"size": 2,`, `"size": 3,`, "its sidecar is of a content of 3 bytes"},
		{`"size": 2,`, `"size": -2,`, "its sidecar is of a content of -2 bytes"},
		{`"file": "`, `"file": "../`, "its sidecar lists an impossible revision"},
		{`"file": "`, `"file": "\u0000`, "its sidecar lists an impossible revision"},
		{`"size": 2,
        "created"`, `"size": 4611686018427387904,
        "created"`, "its sidecar lists an impossible revision"},
		{`"size": 2,
        "created": "2`, `"size": 2,
        "created": "9`, "its sidecar lists an impossible revision"},
		{good, strings.Repeat(" ", maxSidecar+1), "more than any sidecar"},
	} {
		text := strings.Replace(good, test.old, test.made, 1)
		if text == good && test.old != good {
			t.Fatalf("%s is not in %s", test.old, good)
		}
		must(t, os.WriteFile(name, []byte(text), 0o600))
		for o, err := range known.Versions(t.Context(), sources.Object{Key: "Open/b.txt", Size: 2}) {
			must(t, err)
			if test.wrong == "" != (o.Obstacle == "") {
				t.Errorf("%s: %+v", test.made, o)
			}
			r, err := known.Open(t.Context(), o, 0)
			if err == nil {
				must(t, r.Close())
			}
			if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s: %v, want %q", test.made, err, test.wrong)
			}
		}
	}
}
