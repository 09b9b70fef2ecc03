package export

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/sources"
	"assetferry/sources/local"
)

// library fills a world with assets of each kind, and returns their IDs by name.
func library(w *world) map[string]string {
	w.Helper()
	public, private := w.category("Open", false), w.category("Secret", true)
	in := w.folder(public, "", "a folder")
	w.folder(public, in, "nothing in it")
	w.category("Empty", false)
	ids := map[string]string{
		"one":     w.upload(public, "", "one.txt", "one"),
		"again":   w.upload(public, "", "one.txt", "another one"),
		"inner":   w.upload(public, in, "in:ner.txt", strings.Repeat("inner", 1<<16)),
		"data":    w.upload(public, in, "data.json", "{}"),
		"picture": w.upload(private, "", "picture.png", picture(w)),
		"nothing": w.upload(private, "", "nothing.txt", ""),
	}
	_, err := w.client.Update(w.Context(), ids["one"], assets.Changes{Description: new("What <it> shows & says"), Tags: &[]string{"a", "b c"},
		CustomAttributes: map[string]any{"credit": "Jane", "count": 3, "list": []any{"x", 1}, "category": "mine", "assetferry": "a mark"}})
	must(w, err)
	return ids
}

// TestExport verifies that an export contains every asset with its metadata, and that a second
// export downloads nothing.
func TestExport(t *testing.T) {
	w := newWorld(t)
	ids := library(w)
	r, err := w.export()
	must(t, err)
	if diff := cmp.Diff(map[Action]int{Create: 6}, r.actions()); diff != "" {
		t.Error(diff)
	}
	again := "Open/one (" + ids["again"] + ").txt"
	data := "Open/a folder/data" + mark("Open/a folder/data.json") + ".json"
	want := map[string]string{"Open/one.txt": "one", again: "another one", "Open/a folder/in%3Aner.txt": strings.Repeat("inner", 1<<16), data: "{}",
		"Secret/picture.png": picture(t), "Secret/nothing.txt": ""}
	files := w.files()
	for path, content := range want {
		if files[path] != content {
			t.Errorf("%s has %d bytes, want %d", path, len(files[path]), len(content))
		}
	}
	if len(files) != 2*len(want)+1 {
		t.Errorf("%d files: %q", len(files), slices.Sorted(maps.Keys(files)))
	}
	w.wantSidecar(files["Open/one.txt.json"], `{
		"description": "What <it> shows & says", "tags": ["a", "b c"], "attributes": {"category": "mine", "count": "3", "credit": "Jane", "list": "[\"x\",1]"},
		"category": "Open", "name": "one.txt", "private": false, "old_url": ["URL"],
		"assetferry": {"version": 1, "id": "`+ids["one"]+`", "size": 3, "sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
			"type": "text/plain", "uploaded": "TIME", "modified": "TIME", "values": {"count": 3, "list": ["x", 1]}}}`)
	w.wantSidecar(files["Secret/picture.png.json"], `{"category": "Secret", "name": "picture.png", "private": true, "old_url": ["URL"],
		"assetferry": {"version": 1, "id": "`+ids["picture"]+`", "size": 71, "sha256": "88a9ae8d2a0a2a1a", "type": "image/png", "uploaded": "TIME", "modified": "TIME", "width": 3, "height": 2}}`)
	w.wantSidecar(files["Open/a folder/in%3Aner.txt.json"], `{"category": "Open", "folder": "a folder", "name": "in:ner.txt", "private": false, "old_url": ["URL"],
		"assetferry": {"version": 1, "id": "`+ids["inner"]+`", "size": 327680, "sha256": "x", "type": "text/plain", "uploaded": "TIME", "modified": "TIME"}}`)
	m, err := readManifest(strings.NewReader(files[ManifestName]))
	must(t, err)
	if !m.Complete || m.Assets != 6 || m.Source != w.source().Identity() || !slices.Equal(m.EmptyFolders, []string{"Open/a folder/nothing in it"}) || len(m.Categories) != 3 {
		t.Errorf("manifest: %+v", m)
	}
	for _, c := range m.Categories {
		if c.Private != (c.Name == "Secret") || len(c.Extensions) != 4 || c.Folder != c.Name {
			t.Errorf("%+v", c)
		}
	}
	r, err = w.export(func(e *Exporter) { e.Library = unopened{e.Library} })
	must(t, err)
	if diff := cmp.Diff(map[Action]int{Unchanged: 6}, r.actions()); diff != "" {
		t.Error(diff)
	}
}

// unopened is a library whose contents must not be opened.
type unopened struct{ Library }

func (unopened) Open(context.Context, sources.Object, int64) (io.ReadCloser, error) {
	return nil, errors.New("this was not to be opened")
}

// wantSidecar compares a sidecar without the values that differ in each test.
func (w *world) wantSidecar(got, want string) {
	w.Helper()
	plain := func(text string) (all map[string]any) {
		must(w, json.Unmarshal([]byte(text), &all))
		all["old_url"] = "URL"
		record := all["assetferry"].(map[string]any)
		record["uploaded"], record["modified"] = "TIME", "TIME"
		if checksum := record["sha256"].(string); all["name"] != "one.txt" { // one record is enough
			record["sha256"], record["size"] = len(checksum) > 0, nil
		}
		return all
	}
	if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
		w.Error(diff)
	}
}

// TestExportAgain verifies that a second export replaces files whose asset changed, and sidecars of
// a category that became private.
func TestExportAgain(t *testing.T) {
	w := newWorld(t)
	ids := library(w)
	_, err := w.export()
	must(t, err)
	_, err = w.client.Replace(t.Context(), ids["one"], assets.Replacement{Filename: "one.txt", Size: 3,
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("two")), nil }})
	must(t, err)
	_, err = w.client.Update(t.Context(), ids["data"], assets.Changes{Description: new("new")})
	must(t, err)
	w.configure("Secret", assets.NewCategory{Name: "Secret"})
	dry, err := w.export(func(e *Exporter) { e.DryRun = true })
	must(t, err)
	if diff := cmp.Diff(map[Action]int{Replace: 4, Unchanged: 2}, dry.actions()); diff != "" {
		t.Errorf("dry run: %s", diff)
	}
	if w.files()["Open/one.txt"] != "one" {
		t.Error("a dry run wrote something")
	}
	r, err := w.export()
	must(t, err)
	files := w.files()
	if diff := cmp.Diff(map[Action]int{Replace: 4, Unchanged: 2}, r.actions()); diff != "" {
		t.Error(diff)
	}
	if files["Open/one.txt"] != "two" || !strings.Contains(files["Secret/picture.png.json"], `"private": false`) {
		t.Errorf("%q, %s", files["Open/one.txt"], files["Secret/picture.png.json"])
	}
}

// TestPrivateCategoriesStayKnown verifies that files of a category that was deleted are kept, and
// that the manifest still lists it as private. A category that is created during an export is not
// exported, because it is unknown whether it is private.
func TestPrivateCategoriesStayKnown(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	w.configure("Secret", assets.NewCategory{Name: "Hush", Private: true})
	_, err = w.export()
	must(t, err)
	m, err := readManifest(strings.NewReader(w.files()[ManifestName]))
	must(t, err)
	private := map[string]bool{}
	for _, c := range m.Categories {
		private[c.Folder] = c.Private
	}
	if diff := cmp.Diff(map[string]bool{"Empty": false, "Hush": true, "Open": false, "Secret": true}, private); diff != "" {
		t.Error(diff)
	}
	_, err = w.export(func(e *Exporter) { e.Library = growing{e.Library, w} })
	if files := w.files(); err == nil || !strings.Contains(err.Error(), `the category "Late" was created`) || files["Late/new.png"] != "" {
		t.Errorf("with a category that came late: %v", err)
	}
}

// TestPrivateStaysPrivate verifies that a public category with the name of a former private one
// does not make its old files public. Each export warns about them.
func TestPrivateStaysPrivate(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	w.configure("Secret", assets.NewCategory{Name: "Old", Private: true})
	w.upload(w.category("Secret", false), "", "for-all.txt", "for all")
	for range 2 {
		r, err := w.export()
		must(t, err)
		if !slices.Equal(r.staysPrivate, []string{"Secret"}) {
			t.Errorf("told of %q", r.staysPrivate)
		}
		files := w.files()
		if files["Secret/for-all.txt"] == "" || files["Secret/picture.png"] == "" {
			t.Fatalf("there are %q", slices.Collect(maps.Keys(files)))
		}
		m, err := readManifest(strings.NewReader(files[ManifestName]))
		must(t, err)
		if !m.isPrivate("Secret") || m.isPrivate("Open") {
			t.Errorf("the categories are %+v", m.Categories)
		}
	}
}

// A growing library adds a private category after it has returned its categories.
type growing struct {
	Library
	world *world
}

func (g growing) Structure(ctx context.Context) ([]sources.Category, error) {
	all, err := g.Library.Structure(ctx)
	g.world.upload(g.world.category("Late", true), "", "new.png", picture(g.world))
	return all, err
}

// A faulty store fails permanently at its n-th operation.
type faulty struct {
	Store
	left atomic.Int64
}

var errBroken = errors.New("the disk is broken")

func (f *faulty) Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error {
	if f.left.Add(-1) < 0 { // fail within the operation
		return errors.Join(f.Store.Write(ctx, name, contentType, size, io.MultiReader(io.LimitReader(content, size/2), broken{})))
	}
	return f.Store.Write(ctx, name, contentType, size, content)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// TestBreaksOffAnywhere verifies that an interrupted export contains only complete files, and that
// the next export completes it.
func TestBreaksOffAnywhere(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	whole := w.files()
	delete(whole, ManifestName)
	for n := range 13 {
		w.dir = t.TempDir()
		_, err := w.export(func(e *Exporter) {
			f := &faulty{Store: e.Store}
			f.left.Store(int64(n))
			e.Store = f
		})
		for path, content := range w.files() {
			if path != ManifestName && whole[path] != content {
				t.Errorf("broken at %d: %s has %d bytes", n, path, len(content))
			}
		}
		if n == 0 && !errors.Is(err, errBroken) {
			t.Errorf("without a manifest: %v", err)
		}
		r, err := w.export()
		must(t, err)
		files := w.files()
		delete(files, ManifestName)
		if diff := cmp.Diff(whole, files); diff != "" {
			t.Errorf("after it broke at %d: %s", n, diff)
		}
		if want := (n - 1) / 2; r.actions()[Unchanged] < min(want, 6)-2 { // the remaining files were in progress
			t.Errorf("after it broke at %d: %v", n, r.actions())
		}
	}
}

// TestDrafts verifies that partly written files of a killed export are no objects of the source,
// and that the next export removes them, unless they are recent: another export may be writing
// them.
func TestDrafts(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	whole := w.files()
	top, inner := newDraft(), "Open/a folder/"+newDraft()
	old := time.Now().Add(-draftAge - time.Hour)
	for _, name := range []string{top, inner} {
		path := filepath.Join(w.dir, name)
		must(t, os.WriteFile(path, []byte("ha"), 0o600))
		must(t, os.Chtimes(path, old, old))
	}
	fresh, own := "Secret/"+newDraft(), "Open/"+draftStart+"mine"+draftEnd
	must(t, os.WriteFile(filepath.Join(w.dir, fresh), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(w.dir, own), nil, 0o600))
	must(t, os.Chtimes(filepath.Join(w.dir, own), old, old))
	s, err := local.New(w.dir, local.Options{})
	must(t, err)
	known, err := Recognise(t.Context(), s)
	must(t, err)
	for o, err := range known.Objects(t.Context(), "") {
		must(t, err)
		if _, is := whole[string(o.Key)]; !is && o.Key != sources.Key(own) {
			t.Errorf("%s is an object", o.Key)
		}
	}
	_, err = w.export()
	must(t, err)
	whole[fresh], whole[own] = "", ""
	if diff := cmp.Diff(slices.Sorted(maps.Keys(whole)), slices.Sorted(maps.Keys(w.files()))); diff != "" {
		t.Error(diff)
	}
}

// TestOccupied verifies that an export does not write into a folder with other files.
func TestOccupied(t *testing.T) {
	w := newWorld(t)
	library(w)
	for name, file := range map[string]string{"other files": "mine.txt", "another export": ManifestName} {
		w.dir = t.TempDir()
		d := OpenDirectory(w.dir)
		text := `{"type": "assetferry-export", "version": 1, "source": "ckbox://a/b"}`
		must(t, d.Write(t.Context(), file, "", int64(len(text)), strings.NewReader(text)))
		must(t, d.Close())
		_, err := w.export()
		if _, ok := errors.AsType[*OccupiedError](err); !ok || len(w.files()) != 1 {
			t.Errorf("%s: %v, %d files", name, err, len(w.files()))
		}
	}
}

// TestOddSidecars verifies that a file in the place of a sidecar is not read into memory, whatever
// its size.
func TestOddSidecars(t *testing.T) {
	w := newWorld(t)
	w.upload(w.category("Open", false), "", "one.txt", "one")
	_, err := w.export()
	must(t, err)
	sidecar := filepath.Join(w.dir, "Open", "one.txt.json")
	for _, put := range []func() error{
		func() error { return os.Truncate(sidecar, maxManifest+1) },
		func() error { return errors.Join(os.Remove(sidecar), os.Mkdir(sidecar, 0o755)) },
	} {
		must(t, put())
		r, err := w.export()
		must(t, err)
		if o := r.outcomes["Open/one.txt"]; o.Err == nil || !strings.Contains(o.Err.Error(), "Open/one.txt.json") {
			t.Errorf("%+v", o)
		}
	}
}

// TestStop verifies that a cancelled export finishes the files it has started, and is not marked as
// complete.
func TestStop(t *testing.T) {
	w := newWorld(t)
	library(w)
	stop := make(chan struct{})
	_, err := w.export(func(e *Exporter) {
		e.Concurrency, e.Stop = 1, stop
		e.Outcome = func(Outcome) {
			select {
			case <-stop:
			default:
				close(stop)
			}
		}
	})
	if !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	m, err := readManifest(strings.NewReader(w.files()[ManifestName]))
	must(t, err)
	if n := len(w.files()); m.Complete || len(m.Categories) != 3 || n < 3 || n > 5 || n%2 == 0 {
		t.Errorf("%d files, manifest %+v", n, m)
	}
}

// TestBadAsset verifies that an asset that fails is reported and that all others are exported.
func TestBadAsset(t *testing.T) {
	w := newWorld(t)
	library(w)
	changed := false
	r, err := w.export(func(e *Exporter) { e.Library = refusing{e.Library, &changed} })
	must(t, err)
	if n := r.actions(); n["failed"] != 1 || n[Create] != 5 {
		t.Errorf("%v", n)
	}
	if o := r.outcomes["Open/one.txt"]; !errors.Is(o.Err, errChanged) {
		t.Errorf("%+v", o)
	}
	m, err := readManifest(strings.NewReader(w.files()[ManifestName]))
	must(t, err)
	if m.Complete || m.Assets != 5 {
		t.Errorf("%+v", m)
	}
}

type refusing struct {
	Library
	asked *bool
}

func (r refusing) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Key == "Open/one.txt" {
		return nil, &sources.Error{Op: "open", Err: sources.ErrChanged}
	}
	return r.Library.Open(ctx, o, offset)
}

// A foundSource finds objects, and has an empty listing.
type foundSource struct {
	*local.Source
	err error
}

func (f foundSource) Find(_ context.Context, key sources.Key) (o sources.Object, err error) {
	for o, err := range f.Source.Objects(context.Background(), "") {
		if o.Key == key && f.err == nil {
			return o, err
		}
	}
	if f.err != nil {
		return o, f.err
	}
	return o, fs.ErrNotExist
}

func (f foundSource) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	if f.err == nil {
		return func(func(sources.Object, error) bool) {}
	}
	return f.Source.Objects(ctx, after)
}

// TestFoundManifest verifies that the manifest is found without a listing where that is possible, and
// with one if it is not.
func TestFoundManifest(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	exported, err := local.New(w.dir, local.Options{})
	must(t, err)
	other, err := local.New(t.TempDir(), local.Options{})
	must(t, err)
	for _, test := range []struct {
		source foundSource
		is     bool
	}{
		{foundSource{exported, nil}, true},
		{foundSource{exported, errors.New("access denied")}, true},
		{foundSource{other, nil}, false},
	} {
		known, err := Recognise(t.Context(), test.source)
		must(t, err)
		if known.Traits().Categories != test.is {
			t.Errorf("%s, with %v: recognised: %t", test.source.Identity(), test.source.err, !test.is)
		}
	}
}

// TestRecognise verifies that an export is recognised as a source: its categories are known, and
// its manifest is no object.
func TestRecognise(t *testing.T) {
	w := newWorld(t)
	library(w)
	_, err := w.export()
	must(t, err)
	open := func() sources.Source {
		s, err := local.New(w.dir, local.Options{})
		must(t, err)
		known, err := Recognise(t.Context(), s)
		must(t, err)
		return known
	}
	s := open()
	var keys []string
	for o, err := range s.Objects(t.Context(), "") {
		must(t, err)
		keys = append(keys, string(o.Key))
	}
	if len(keys) != 12 || slices.Contains(keys, ManifestName) || !s.Traits().Categories {
		t.Errorf("%q", keys)
	}
	structure, err := s.(sources.Structured).Structure(t.Context())
	must(t, err)
	extensions := []string{"txt", "json", "png", "xmp"}
	if diff := cmp.Diff([]sources.Category{{Segment: "Empty", Name: "Empty", Extensions: extensions}, {Segment: "Open", Name: "Open", Extensions: extensions},
		{Segment: "Secret", Name: "Secret", Private: true, Extensions: extensions}}, structure); diff != "" {
		t.Error(diff)
	}
	d := OpenDirectory(w.dir)
	for text, want := range map[string]bool{`{"type": "something else"}`: false, "no JSON": false, `{"type": "assetferry-export", "version": 1, "complete": true}`: true} {
		must(t, d.Write(t.Context(), ManifestName, "", int64(len(text)), strings.NewReader(text)))
		if _, is := open().(sources.Structured); is != want {
			t.Errorf("%s: recognised: %t", text, is)
		}
	}
	newer := `{"type": "assetferry-export", "version": 2}`
	must(t, d.Write(t.Context(), ManifestName, "", int64(len(newer)), strings.NewReader(newer)))
	must(t, d.Close())
	l, err := local.New(w.dir, local.Options{})
	must(t, err)
	if _, err := Recognise(t.Context(), l); err == nil || !strings.Contains(err.Error(), "a newer version of assetferry wrote this export") {
		t.Errorf("of a newer version: %v", err)
	}
}
