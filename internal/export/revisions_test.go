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
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// a versionedStore is a bucket in memory that keeps versions.
type versionedStore struct {
	*Directory // for its sidecars and the manifest

	mu       sync.Mutex
	versions map[string][]storedVersion
	left     int  // writes until they fail
	arrives  bool // whether a version that fails was written nevertheless
	busy     int  // if not 0, each write with a multiple of this number fails for a moment, and arrives
	writes   int
}

// A busyError is temporary.
type busyError struct{ error }

func (busyError) Class() retry.Class { return retry.Transient }

type storedVersion struct{ mark, content string }

func newVersionedStore(dir string) *versionedStore {
	return &versionedStore{Directory: OpenDirectory(dir), versions: map[string][]storedVersion{}, left: 1 << 30}
}

func (s *versionedStore) KeepsNewVersions(context.Context) (bool, error) { return true, nil }

func (s *versionedStore) Latest(_ context.Context, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.versions[name]; len(all) > 0 {
		return all[len(all)-1].mark, nil
	}
	return "", fs.ErrNotExist
}

func (s *versionedStore) Size(ctx context.Context, name string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.versions[name]; len(all) > 0 {
		return int64(len(all[len(all)-1].content)), nil
	}
	return s.Directory.Size(ctx, name)
}

func (s *versionedStore) fails() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	return s.left < 0
}

func (s *versionedStore) Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error {
	if s.fails() {
		return errBroken
	}
	return s.Directory.Write(ctx, name, contentType, size, content)
}

func (s *versionedStore) WriteVersion(ctx context.Context, name, contentType, mark string, size int64, content io.Reader) error {
	err := s.writeVersion(ctx, name, contentType, mark, size, content)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes++; err == nil && s.busy > 0 && s.writes%s.busy == 0 {
		err = busyError{errBroken}
	}
	return err
}

func (s *versionedStore) writeVersion(_ context.Context, name, _, mark string, size int64, content io.Reader) error {
	failed := s.fails()
	data, err := io.ReadAll(content)
	if err == nil && int64(len(data)) != size {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && (!failed || s.arrives) {
		s.mu.Lock()
		s.versions[name] = append(s.versions[name], storedVersion{mark, string(data)})
		s.mu.Unlock()
	}
	if failed {
		err = errBroken
	}
	return err
}

// contents returns the contents of the versions of each file, the oldest first.
func (s *versionedStore) contents() map[string]string {
	found := map[string]string{}
	for name, all := range s.versions {
		for _, v := range all {
			found[name] += " " + v.content
		}
	}
	return found
}

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
	s, err := local.New(w.dir, local.Options{})
	must(w, err)
	known, err := Recognise(w.Context(), s)
	must(w, err)
	found := map[string]string{}
	content := func(o sources.Object) string {
		r, err := known.Open(w.Context(), o, 0)
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
	s, err := local.New(w.dir, local.Options{})
	must(t, err)
	known, err := Recognise(t.Context(), s)
	must(t, err)
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

// TestRevisionsBreakOffAnywhere verifies that an export that breaks off at any write, even if the
// write succeeded, is completed by the next one: no revision is missing, doubled or out of order.
func TestRevisionsBreakOffAnywhere(t *testing.T) {
	w := newWorld(t)
	histories(w)
	want := map[string]string{"Open/a.txt": " a0", "Open/b.txt": " b0 b1 b2", "Open/c.txt": " c2 c3 c4"}
	for n := range 14 {
		for _, arrives := range []bool{false, true} {
			w.dir = t.TempDir()
			s := newVersionedStore(w.dir)
			s.left, s.arrives = n, arrives
			if _, err := w.export(withVersions(3), func(e *Exporter) { e.Store = s }); n == 0 && !errors.Is(err, errBroken) {
				t.Errorf("without a manifest: %v", err)
			}
			s.left = 1 << 30
			r, err := w.export(withVersions(3), func(e *Exporter) { e.Store = s })
			must(t, err)
			if r.actions()["failed"] > 0 {
				t.Errorf("after it broke at %d: %+v", n, r.outcomes)
			}
			if diff := cmp.Diff(want, s.contents()); diff != "" {
				t.Errorf("a bucket, after it broke at %d (%t): %s", n, arrives, diff)
			}
			if r, err = w.export(withVersions(3), func(e *Exporter) { e.Store = s }); err != nil || r.actions()[Unchanged] != 3 {
				t.Errorf("the next export: %v, %v", r.actions(), err)
			}
			must(t, s.Close())
		}
		w.dir = t.TempDir()
		_, err := w.export(withVersions(3), func(e *Exporter) {
			f := &faulty{Store: e.Store}
			f.left.Store(int64(n))
			e.Store = f
		})
		if n == 0 && !errors.Is(err, errBroken) {
			t.Errorf("without a manifest: %v", err)
		}
		_, err = w.export(withVersions(3))
		must(t, err)
		if diff := cmp.Diff(map[string]string{"Open/a.txt": "a0:", "Open/b.txt": "b2: b1 b0", "Open/c.txt": "c4: c3 c2"}, w.read()); diff != "" {
			t.Errorf("a directory, after it broke at %d: %s", n, diff)
		}
		if files := revisionsIn(w.files()); len(files) != 4 {
			t.Errorf("%q", files)
		}
	}
}

// TestLostAnswers verifies that a version whose request was executed, but not answered, is not written
// again, and that all sidecars have the checksums of their files.
func TestLostAnswers(t *testing.T) {
	w := newWorld(t)
	histories(w)
	for _, busy := range []int{1, 2, 3} {
		w.dir = t.TempDir()
		s := newVersionedStore(w.dir)
		s.busy = busy
		r, err := w.export(withVersions(3), func(e *Exporter) { e.Store = s })
		must(t, err)
		if n := r.actions(); n[Create] != 3 || len(n) != 1 {
			t.Errorf("%+v", r.outcomes)
		}
		if diff := cmp.Diff(map[string]string{"Open/a.txt": " a0", "Open/b.txt": " b0 b1 b2", "Open/c.txt": " c2 c3 c4"}, s.contents()); diff != "" {
			t.Errorf("each %d: %s", busy, diff)
		}
		for name, all := range s.versions {
			sidecar, ok := readSidecar([]byte(w.files()[name+sidecarEnding]))
			sum := sha256.Sum256([]byte(all[len(all)-1].content))
			if !ok || sidecar.Export.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%s: %+v", name, sidecar)
			}
		}
		must(t, s.Close())
	}
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

// TestRevisionsThatAreNotServed verifies that an asset fails in each export if the service does not
// serve an older revision, and that everything else is exported.
func TestRevisionsThatAreNotServed(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	older, _, err := w.source().Revisions(t.Context(), sources.Object{Key: "Open/c.txt", VersionTag: ids["c"]})
	must(t, err)
	lost := older[2].Version
	refusing := func(e *Exporter) {
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == lost {
				return &sources.Error{Op: "open", Err: fs.ErrNotExist}
			}
			return nil
		}}
	}
	s := newVersionedStore(t.TempDir())
	for _, of := range []func(*Exporter){func(*Exporter) {}, func(e *Exporter) { e.Store = s }} {
		for n := range 3 {
			r, err := w.export(withVersions(4), refusing, of)
			must(t, err)
			o := r.outcomes["Open/c.txt"]
			if _, ok := errors.AsType[*NotServedError](o.Err); !ok || !strings.Contains(o.Err.Error(), lost) || o.Revisions.Missing != 1 {
				t.Errorf("export %d: %+v", n, o)
			}
			if n > 0 && (o.Revisions.Written > 0 || r.actions()[Unchanged] != 2) {
				t.Errorf("export %d: %+v", n, r.outcomes)
			}
		}
	}
	if got := s.contents()["Open/c.txt"]; got != " c1 c3 c4" {
		t.Errorf("a bucket has %q", got)
	}
	if got := w.read()["Open/c.txt"]; got != "c4: c3 c1" {
		t.Errorf("a directory has %q", got)
	}
	// A directory gets it when it is served again.
	r, err := w.export(withVersions(4))
	must(t, err)
	if o := r.outcomes["Open/c.txt"]; o.Err != nil || o.Revisions.Written != 1 || w.read()["Open/c.txt"] != "c4: c3 c2 c1" {
		t.Errorf("served again: %+v", o)
	}
	must(t, s.Close())
}

// TestUnservedAfterBreak verifies that a revision that is not served is reported even if the export
// broke off after it.
func TestUnservedAfterBreak(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	older, _, err := w.source().Revisions(t.Context(), sources.Object{Key: "Open/c.txt", VersionTag: ids["c"]})
	must(t, err)
	s := newVersionedStore(t.TempDir())
	change := func(e *Exporter) {
		e.Store, e.Concurrency = s, 1
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == older[1].Version {
				return &sources.Error{Op: "open", Err: fs.ErrNotExist}
			}
			return nil
		}}
	}
	s.left = 8 // the manifest, a and b with their sidecars, and one version of c
	if _, err = w.export(withVersions(4), change); !errors.Is(err, errBroken) || s.contents()["Open/c.txt"] != " c2" {
		t.Errorf("%v, %v", err, s.contents())
	}
	s.left = 1 << 30
	r, err := w.export(withVersions(4), change)
	must(t, err)
	if o := r.outcomes["Open/c.txt"]; o.Revisions.Missing != 1 || s.contents()["Open/c.txt"] != " c2 c3 c4" {
		t.Errorf("%+v, %v", o, s.contents())
	}
	must(t, s.Close())
}

// TestFailedRevision verifies that the error of a revision names it, and that a bucket gets no later
// revision before it.
func TestFailedRevision(t *testing.T) {
	w := newWorld(t)
	ids := histories(w)
	older, _, err := w.source().Revisions(t.Context(), sources.Object{Key: "Open/c.txt", VersionTag: ids["c"]})
	must(t, err)
	s := newVersionedStore(t.TempDir())
	change := func(e *Exporter) {
		e.Store = s
		e.Library = lossy{e.Library, func(o sources.Object) error {
			if o.Version == older[1].Version {
				return &sources.Error{Op: "open", Err: fs.ErrPermission}
			}
			return nil
		}}
	}
	r, err := w.export(withVersions(9), change)
	must(t, err)
	o := r.outcomes["Open/c.txt"]
	if e, ok := errors.AsType[*RevisionError](o.Err); !ok || !strings.Contains(e.Error(), older[1].Version) || s.contents()["Open/c.txt"] != " c0" {
		t.Errorf("%v, %v", o.Err, s.contents())
	}
	_, err = w.export(withVersions(9), func(e *Exporter) { e.Store = s })
	must(t, err)
	if got := s.contents()["Open/c.txt"]; got != " c0 c1 c2 c3 c4" {
		t.Errorf("%q", got)
	}
	must(t, s.Close())
}

// An unversioned store is a bucket without versions.
type unversioned struct{ *versionedStore }

func (unversioned) KeepsNewVersions(context.Context) (bool, error) { return false, nil }

// TestBucketsForRevisions verifies that a bucket without versions is refused, and an export with other
// revisions.
func TestBucketsForRevisions(t *testing.T) {
	w := newWorld(t)
	histories(w)
	s := newVersionedStore(t.TempDir())
	if _, err := w.export(withVersions(3), func(e *Exporter) { e.Store = unversioned{s} }); !errors.Is(err, ErrUnversioned) {
		t.Errorf("without versions: %v", err)
	}
	for n, want := range []int{3, 2, 4, 0, 3} {
		_, err := w.export(withVersions(want), func(e *Exporter) { e.Store = s })
		if _, differs := errors.AsType[*VersionsError](err); differs != (want != 3) {
			t.Errorf("%d: %d versions: %v", n, want, err)
		}
	}
	must(t, s.Close())
}

// TestForeignRevisions verifies that a sidecar cannot lead to other files than revisions.
func TestForeignRevisions(t *testing.T) {
	w := newWorld(t)
	histories(w)
	_, err := w.export(withVersions(3))
	must(t, err)
	sidecar := filepath.Join(w.dir, "Open", "b.txt.json")
	data, err := os.ReadFile(sidecar)
	must(t, err)
	s, ok := readSidecar(data)
	if !ok || len(s.Export.Revisions) != 2 {
		t.Fatalf("%s", data)
	}
	l, err := local.New(w.dir, local.Options{})
	must(t, err)
	known, err := Recognise(t.Context(), l)
	must(t, err)
	for _, file := range []string{"../../../Open/a.txt", "..", "/etc/passwd", "x/y", "."} {
		r, err := known.Open(t.Context(), sources.Object{Key: "Open/b.txt", Size: 2, Version: file}, 0)
		if err == nil {
			must(t, r.Close())
			t.Errorf("%s was opened", file)
		}
	}
	real := s.Export.Revisions[0]
	if _, err := known.Open(t.Context(), sources.Object{Key: "Open/b.txt", Size: real.Size + 1, Version: real.File}, 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("of another size: %v", err)
	}
	must(t, os.Remove(filepath.Join(w.dir, revisionsFolder, "Open", "b.txt", real.File)))
	if _, err := known.Open(t.Context(), sources.Object{Key: "Open/b.txt", Size: real.Size, Version: real.File}, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deleted one: %v", err)
	}
	must(t, os.WriteFile(sidecar, []byte("no JSON"), 0o600))
	for _, err := range known.(sources.Historian).Versions(t.Context(), sources.Object{Key: "Open/b.txt"}) {
		if err == nil || !strings.Contains(err.Error(), "Open/b.txt") {
			t.Errorf("without a sidecar: %v", err)
		}
	}
}

// A modelAsset is an asset at a service in the model of TestRest.
type modelAsset struct {
	older   []sources.Object // by time
	current sources.Object
	clock   int64
	made    int
}

func (a *modelAsset) add(random *rand.Rand) {
	a.made++
	if random.IntN(3) > 0 { // otherwise at the same time
		a.clock++
	}
	a.keep()
	a.current = sources.Object{Version: fmt.Sprint("r", a.made), Time: time.Unix(a.clock, 0)}
}

// keep makes the current revision an older one.
func (a *modelAsset) keep() {
	if a.current.Version != "" {
		a.older = append(a.older, a.current)
	}
	slices.SortStableFunc(a.older, func(a, b sources.Object) int { return a.Time.Compare(b.Time) })
}

// TestRest verifies with random histories of an asset, exports that break off anywhere, and deleted
// revisions, that a bucket gets each revision once and in order, and in the end the current one.
func TestRest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var a modelAsset
		var bucket []string
		mark := ""
		a.add(random)
		for range 8 {
			switch random.IntN(4) {
			case 0:
				a.add(random)
			case 1:
				if len(a.older) > 0 {
					at := random.IntN(len(a.older))
					a.older = slices.Delete(a.older, at, at+1)
				}
			default:
				from, write := rest(mark, "asset", a.older, a.current)
				writes := slices.Clone(a.older[from:])
				all := random.IntN(2) == 0
				if write {
					writes = append(writes, a.current)
				}
				if !all {
					writes = writes[:random.IntN(len(writes)+1)]
				}
				for _, o := range writes {
					bucket = append(bucket, o.Version)
					mark = markOf("asset", o, o.Time)
				}
				if all && bucket[len(bucket)-1] != a.current.Version {
					t.Fatalf("the bucket has %q, but the current revision is %s", bucket, a.current.Version)
				}
			}
		}
		for n := 1; n < len(bucket); n++ {
			var last, next int
			if _, err := fmt.Sscanf(bucket[n-1]+bucket[n], "r%dr%d", &last, &next); err != nil || next <= last {
				t.Fatalf("the bucket has %q", bucket)
			}
		}
	}
}

// TestRestoredRevisions verifies that a revision that was made current again becomes the newest version
// of a bucket once, after the revisions that are newer.
func TestRestoredRevisions(t *testing.T) {
	at := func(version string, second int64) sources.Object {
		return sources.Object{Version: version, Time: time.Unix(second, 0)}
	}
	r0, r1, r2, r3 := at("r0", 0), at("r1", 1), at("r2", 2), at("r3", 3)
	for n, test := range []struct {
		mark    string
		older   []sources.Object
		current sources.Object
		from    int
		write   bool
	}{
		{"", []sources.Object{r0}, r1, 0, true},
		{markOf("a", r1, r1.Time), []sources.Object{r0, r2}, r1, 1, true},                                                          // r2 was added, and r1 restored
		{markOf("a", r2, r2.Time), []sources.Object{r0, r2}, r1, 2, true},                                                          // r2 was written since
		{markOf("a", r1, r2.Time), []sources.Object{r0, r2}, r1, 2, false},                                                         // and r1
		{markOf("a", r1, r2.Time), []sources.Object{r0, r1, r2}, r3, 3, true},                                                      // r3 was added
		{markOf("a", r1, r2.Time), []sources.Object{r0}, r1, 1, false},                                                             // r2 was deleted
		{markOf("b", r1, r2.Time), []sources.Object{r0, r1}, r2, 0, true},                                                          // of another asset
		{"of another program", []sources.Object{r0, r1}, r2, 0, true},                                                              //
		{markOf("a", r2, r2.Time), []sources.Object{r0, r1}, r3, 2, true},                                                          // the last one was deleted
		{markOf("a", r0, time.Time{}), []sources.Object{{Version: "r0"}, {Version: "r1"}}, sources.Object{Version: "r2"}, 1, true}, // times are unknown
	} {
		if from, write := rest(test.mark, "a", test.older, test.current); from != test.from || write != test.write {
			t.Errorf("%d: from %d, %t; want %d, %t", n, from, write, test.from, test.write)
		}
	}
}
