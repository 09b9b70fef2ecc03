package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/tiff"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// A scene is a source and a state database with a plan of all its objects.
type scene struct {
	testing.TB
	memory.Source
	store *state.Store
	run   state.Run
	items []state.Item
}

func newScene(tb testing.TB) *scene {
	tb.Helper()
	store, err := state.Open(tb.Context(), filepath.Join(tb.TempDir(), "journal.db"))
	must(tb, err)
	tb.Cleanup(func() { must(tb, store.Close()) })
	pair, err := store.Pair(tb.Context(), "source", "destination", "https://example.com")
	must(tb, err)
	run, err := store.Begin(tb.Context(), pair, "plan", json.RawMessage("{}"))
	must(tb, err)
	return &scene{TB: tb, store: store, run: run}
}

// put adds an object to the source and plans its upload.
func (s *scene) put(key string, content []byte) {
	o := s.Put(sources.Key(key), content)
	i := sent(key, "f", o.Size)
	i.Time, i.VersionTag = o.Time, o.VersionTag
	s.items = append(s.items, i)
}

// plan stores the plan.
func (s *scene) plan() {
	s.Helper()
	must(s, s.store.Stage(s.Context(), s.run.Num, state.Page{Items: s.items, Done: true}))
	must(s, s.store.Decided(s.Context(), s.run.Num, s.items))
}

// probe examines the objects of a source, which wraps that of the scene.
func (s *scene) probe(source sources.Source) (found []Finding, objects, bytes int64) {
	s.Helper()
	p := NewProbe(source, s.store, 0.01) // of 100 x 100
	p.Concurrency = 4
	objects, bytes, err := p.Begin(s.Context(), s.run.Num)
	must(s, err)
	found, err = p.Run(s.Context(), s.run.Num)
	must(s, err)
	if left, err := p.Store.IdenticalContents(s.Context(), s.run.Num, 1); err != nil || left.Groups > 0 {
		s.Errorf("contents are left in the journal: %v (%v)", left, err)
	}
	return found, objects, bytes
}

func encoded(tb testing.TB, width, height int, encode func(io.Writer, image.Image) error) []byte {
	tb.Helper()
	var b bytes.Buffer
	must(tb, encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.Bytes()
}

func asJPEG(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }
func asTIFF(w io.Writer, i image.Image) error { return tiff.Encode(w, i, nil) }

func TestProbe(t *testing.T) {
	s := newScene(t)
	long := bytes.Repeat([]byte("long"), 50_000)
	other := append(bytes.Clone(long[:len(long)-1]), 'x')
	contents := map[string][]byte{
		"a/large.jpg": encoded(t, 101, 100, asJPEG), "a/right.jpg": encoded(t, 100, 100, asJPEG),
		"a/far.tif": encoded(t, 400, 300, asTIFF), // its size is at the end of the file
		"a/cut.jpg": encoded(t, 10, 10, asJPEG)[:20], "a/none.png": []byte("no image at all"),
		"a/png.jpg": encoded(t, 10, 10, png.Encode), "a/page.mp4": []byte("<!doctype html><title>404</title>"),
		"a/live.svg": []byte(`<svg><script/></svg>`), "a/still.svg": []byte(`<svg><path/></svg>`),
		"e/long-1": long, "e/long-2": long, "e/long-3": other,
		"e/short-1": []byte("equal"), "e/short-2": []byte("equal"), "e/short-3": []byte("equal"), "e/short-4": []byte("other"),
		"empty-1.txt": nil, "empty-2.txt": nil,
	}
	for key, content := range contents {
		s.put(key, content)
	}
	s.plan()
	found, objects, size := s.probe(&s.Source)
	if objects != int64(len(contents)) || size < 3*headLength || size > 4*headLength {
		t.Errorf("%d objects and %d bytes to read", objects, size)
	}
	got := map[string]Finding{}
	for _, f := range found {
		if f.Title == "" || f.Remedy == "" {
			t.Errorf("%s: title %q, remedy %q", f.ID, f.Title, f.Remedy)
		}
		f.Title, f.Remedy = "", ""
		got[f.ID] = f
	}
	sizes := func(keys ...string) (n int64) {
		for _, k := range keys {
			n += int64(len(contents[k]))
		}
		return n
	}
	want := map[string]Finding{
		"image_too_large": {ID: "image_too_large", Severity: Loss, Unit: "object", Objects: 2, Bytes: sizes("a/far.tif", "a/large.jpg"),
			Examples: []string{"a/far.tif: 400 x 300", "a/large.jpg: 101 x 100"}},
		"image_damaged": {ID: "image_damaged", Severity: Warning, Unit: "object", Objects: 2, Bytes: sizes("a/cut.jpg", "a/none.png"),
			Examples: []string{"a/cut.jpg: unexpected EOF", "a/none.png: not an image"}},
		"type_differs": {ID: "type_differs", Severity: Warning, Unit: "object", Objects: 2, Bytes: sizes("a/png.jpg", "a/page.mp4"),
			Examples: []string{"a/page.mp4: HTML", "a/png.jpg: PNG"}},
		"active_svg": {ID: "active_svg", Severity: Warning, Unit: "object", Objects: 1, Bytes: sizes("a/live.svg"), Examples: []string{"a/live.svg: a script"}},
		"identical_content": {ID: "identical_content", Severity: Note, Unit: "group", Objects: 2, Bytes: 200_000 + 2*5,
			Examples: []string{"2 times 200.0 kB: e/long-1 = e/long-2", "3 times 5 B: e/short-1 = e/short-3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProbeUnreadable verifies that an object which cannot be read to its end is a finding, and
// that it is identical to no other object.
func TestProbeUnreadable(t *testing.T) {
	s := newScene(t)
	long := bytes.Repeat([]byte("long"), 50_000)
	for _, key := range []string{"bad-1", "bad-2", "late-1", "late-2"} {
		s.put(key, long)
	}
	s.put("gone.jpg", []byte("gone"))
	s.put("one.txt", []byte("changed"))
	s.plan()
	s.Delete("gone.jpg")
	s.Put("one.txt", []byte("changes"))
	found, _, _ := s.probe(&breaking{Source: &s.Source, after: map[string]int64{"bad-1": 0, "bad-2": 100, "late-1": headLength + 1}})
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	want := []string{"bad-1: the disk is broken", "bad-2: the disk is broken", "gone.jpg: file does not exist", "one.txt: changed since it was listed", "late-1: the disk is broken"}
	if diff := cmp.Diff(want, found[0].Examples); diff != "" || found[0].ID != "probe_failed" || found[0].Objects != 5 {
		t.Errorf("%+v\n%s", found[0], diff)
	}
}

// A breaking source fails in the middle of objects.
type breaking struct {
	sources.Source
	after map[string]int64
}

func (b *breaking) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	r, err := b.Source.Open(ctx, o, offset)
	limit, breaks := b.after[string(o.Key)]
	if err != nil || !breaks {
		return r, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, limit-offset), broken{}), r}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is broken") }

// TestProbeInterrupted verifies that an interrupted probe returns the cause.
func TestProbeInterrupted(t *testing.T) {
	s := newScene(t)
	for n := range 100 {
		s.put(fmt.Sprint(n), []byte{byte(n)})
	}
	s.plan()
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := NewProbe(&s.Source, s.store, 0)
	_, _, err := p.Begin(ctx, s.run.Num)
	must(t, err)
	var seen atomic.Int64
	p.Progress = func(int64, int64) {
		if seen.Add(1) == 10 {
			cancel(interrupted)
		}
	}
	if found, err := p.Run(ctx, s.run.Num); !errors.Is(err, interrupted) {
		t.Errorf("got %v, %v", found, err)
	}
	if n := seen.Load(); n > 20 {
		t.Errorf("%d objects were read all the same", n)
	}
}

// TestProbeReadsNoMore verifies that only objects to upload are examined.
func TestProbeReadsNoMore(t *testing.T) {
	s := newScene(t)
	s.put("photo.jpg", []byte("not an image"))
	s.items[0].Action, s.items[0].State, s.items[0].Reason = state.Skip, state.ItemSkipped, string(migrate.ReasonExcluded)
	s.plan()
	found, objects, size := s.probe(nil) // without a source
	if len(found) != 0 || objects != 0 || size != 0 {
		t.Errorf("found %v in %d objects of %d bytes", found, objects, size)
	}
}

// TestEqualTags verifies that objects with equal version tags are found identical without reading
// them.
func TestEqualTags(t *testing.T) {
	s := newScene(t)
	for _, key := range []string{"a", "b", "c"} {
		i := sent(key, "f", 1000)
		i.VersionTag = strings.Repeat("0", 32)
		s.items = append(s.items, i)
	}
	s.plan()
	found, err := EqualTags(t.Context(), s.store, s.run.Num)
	must(t, err)
	if len(found) != 1 || found[0].Message() != "1 group, 2.0 kB: objects with identical content" ||
		found[0].Examples[0] != "3 times 1.0 kB: a = c" {
		t.Errorf("found %+v", found)
	}
}
