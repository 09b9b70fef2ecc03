package ckbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/sources"
	"assetferry/sources/ckbox"
	"assetferry/sources/sourcetest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (w *workspace) source() *ckbox.Source {
	return ckbox.New(w, ckbox.Options{Environment: "environment", Workspace: "workspace", Attribute: "ours"})
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
		w := newWorkspace("c", "other")
		w.add(1, "", "not", "ours", nil)
		for _, f := range files {
			w.put(string(f.Key), f.Content)
		}
		return sourcetest.Fixture{
			Source: below{w.source(), "c/"},
			Put:    func(f sourcetest.File) error { w.put(string(f.Key), f.Content); return nil },
			Remove: func(k sources.Key) error { return w.remove(string(k)) },
			Vanish: w.vanish,

			KeepVersions: func() error { return nil }, // it always does
			DropVersion:  w.dropRevision,
		}
	}, sourcetest.Storable(storable), sourcetest.Many(1200))
}

// storable drops names that the service cannot have, and names that it can have but that cannot be
// a segment of a key. The latter have a test of their own.
func storable(keys ...sources.Key) bool {
	for _, k := range keys {
		for segment := range strings.SplitSeq(string(k), "/") {
			if strings.ContainsFunc(segment, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) || strings.Trim(segment, ".") == "" && len(segment) < 3 {
				return false
			}
		}
	}
	return true
}

// below is a source that hides the category, which every asset has, from its keys.
type below struct {
	*ckbox.Source
	prefix sources.Key
}

func (b below) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range b.Source.Objects(ctx, b.prefix+after) {
			key, ok := strings.CutPrefix(string(o.Key), string(b.prefix))
			if err == nil && !ok {
				continue
			}
			o.Key = sources.Key(key)
			if !yield(o, err) {
				return
			}
		}
	}
}

func keys(tb testing.TB, s sources.Source) (keys []string) {
	tb.Helper()
	for o, err := range s.Objects(tb.Context(), "") {
		must(tb, err)
		keys = append(keys, string(o.Key))
	}
	return keys
}

// TestEqualNames verifies that of files with equal names, each has its own key, that the key stays
// the same when more files are added, and that it opens the right content.
func TestEqualNames(t *testing.T) {
	w := newWorkspace("Images", "Images", "A/B", "A_B")
	one := w.folder(0, "one")
	namesake := w.addFolder(0, "", "one")
	for _, folder := range []string{"", one, namesake} {
		for range 3 {
			w.add(0, folder, "same", "jpg", []byte(fmt.Sprint(w.made)))
		}
	}
	w.add(0, one, "same (id00007)", "jpg", []byte("as if it were another"))
	w.add(0, one, "odd/name\n", "jpg", nil)
	w.add(0, one, "odd_name_", "jpg", nil)
	w.add(0, one, "..", "", nil)
	w.add(0, one, "", "jpg", nil)
	w.add(0, one, "cafe\u0301", "jpg", nil)
	w.add(0, one, "caf\u00e9", "jpg", nil)
	w.add(1, "", "same", "jpg", []byte("in the other Images"))
	w.add(2, "", "a", "jpg", nil)
	w.add(3, "", "a", "jpg", nil)
	want := []string{
		"A_B (category-3)/a.jpg",
		"A_B/a.jpg",
		"Images (category-1)/same.jpg",
		"Images/one (id00002)/same (id00010).jpg",
		"Images/one (id00002)/same (id00011).jpg",
		"Images/one (id00002)/same.jpg",
		"Images/one/.jpg",
		"Images/one/_..",
		"Images/one/cafe\u0301.jpg",
		"Images/one/caf\u00e9.jpg",
		"Images/one/odd_name_ (id00014).jpg",
		"Images/one/odd_name_.jpg",
		"Images/one/same (id00007) (id00007).jpg",
		"Images/one/same (id00007).jpg",
		"Images/one/same (id00008).jpg",
		"Images/one/same.jpg",
		"Images/same (id00004).jpg",
		"Images/same (id00005).jpg",
		"Images/same.jpg",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, keys(t, w.source())); diff != "" {
		t.Error(diff)
	}
	must(t, sourcetest.Check(t.Context(), w.source()))
	for o, err := range w.source().Objects(t.Context(), "") {
		must(t, err)
		r, err := w.source().Open(t.Context(), o, 0)
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		if string(content) != string(w.contents[o.VersionTag]) {
			t.Errorf("%s has the content %q", o.Key, content)
		}
		must(t, r.Close())
	}
	w.add(0, one, "same", "jpg", nil)
	if more := keys(t, w.source()); len(more) != len(want)+1 || len(slices.DeleteFunc(more, func(k string) bool { return slices.Contains(want, k) })) != 1 {
		t.Errorf("one more of a name made more than one key: %q", more)
	}
}

// TestDescribe verifies that all metadata that people gave an asset is returned, from the listing
// and from the reader, and none that only this program wrote.
func TestDescribe(t *testing.T) {
	w := newWorkspace("Images")
	w.categories[0].Private = true
	id := w.add(0, w.folder(0, "2026/May"), "a/b", "jpg", []byte("content"))
	w.change(id, func(a *assets.Asset) {
		a.Tags = []string{"one", "two words"}
		a.Metadata.Description = "What it shows"
		a.Metadata.CustomAttributes = map[string]any{"ours": "a mark", "credit": "Jane", "count": 3.0, "is": true, "list": []any{"a", 1.0}, "none": nil, "empty": "", "name": "another"}
	})
	want := map[string][]string{
		"category": {"Images"}, "private": {"true"}, "folder": {"2026/May"}, "name": {"a/b.jpg"},
		"description": {"What it shows"}, "tags": {"one", "two words"}, "old_url": {"https://delivery/" + id},
		"attributes.name": {"another"}, "credit": {"Jane"}, "count": {"3"}, "is": {"true"}, "list": {`["a",1]`},
	}
	for name, s := range map[string]*ckbox.Source{"new": w.source(), "listed": w.source()} {
		var o sources.Object
		for each, err := range w.source().Objects(t.Context(), "") {
			must(t, err)
			o = each
		}
		if name == "listed" {
			keys(t, s)
		}
		d, err := s.Describe(t.Context(), o)
		must(t, err)
		if diff := cmp.Diff(sources.Description{ContentType: "text/plain", Fields: want}, d); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		r, err := s.Open(t.Context(), o, 0)
		must(t, err)
		also, err := r.(sources.Describer).Describe(t.Context())
		must(t, err)
		if diff := cmp.Diff(d, also); diff != "" {
			t.Errorf("%s, by the reader: %s", name, diff)
		}
		if a := r.(*ckbox.Reader).Asset(); a.ID != id {
			t.Errorf("asset %q", a.ID)
		}
		must(t, r.Close())
	}
}

// TestDescribeOther verifies that a reader returns the metadata of the listed asset, or none.
func TestDescribeOther(t *testing.T) {
	w := newWorkspace("Images")
	id := w.add(0, "", "a", "jpg", []byte("content"))
	s := w.source()
	var o sources.Object
	for each, err := range s.Objects(t.Context(), "") {
		must(t, err)
		o = each
	}
	w.change(id, func(a *assets.Asset) { a.Metadata.Description = "new" })
	if _, err := s.Describe(t.Context(), o); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	delete(w.assets, id)
	if _, err := s.Describe(t.Context(), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

// TestFolderDeletedMeanwhile verifies that a listing fails with a temporary error if a folder is
// deleted meanwhile. The assets of the folder move up, to a folder that may have been listed
// already, so the listing would be incomplete.
func TestFolderDeletedMeanwhile(t *testing.T) {
	w := newWorkspace("Images")
	folder := w.folder(0, "z")
	w.add(0, "", "a", "jpg", nil)
	w.add(0, folder, "b", "jpg", nil)
	var last error
	for o, err := range w.source().Objects(t.Context(), "") {
		last = err
		if o.Key == "Images/a.jpg" {
			delete(w.folders, folder)
		}
	}
	if last == nil || errors.Is(last, fs.ErrNotExist) || !strings.Contains(last.Error(), "Images/z was deleted during the listing") {
		t.Errorf("the listing ends with %v", last)
	}
}

// TestWrongContent verifies that Open returns exactly the listed content, or an error.
func TestWrongContent(t *testing.T) {
	w := newWorkspace("Images")
	id := w.add(0, "", "a", "jpg", []byte("content"))
	s := w.source()
	var o sources.Object
	for each, err := range s.Objects(t.Context(), "") {
		must(t, err)
		o = each
	}
	w.contents[id] = []byte("more content")
	if _, err := s.Open(t.Context(), o, 0); err == nil || !strings.Contains(err.Error(), "open ckbox://environment/workspace: Images/a.jpg: the service has 12 bytes instead of the listed 7") {
		t.Errorf("another size: %v", err)
	}
	delete(w.contents, id)
	if _, err := s.Open(t.Context(), o, 0); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no content: %v", err)
	}
	for _, offset := range []int64{-1, 8} {
		if _, err := s.Open(t.Context(), o, offset); err == nil || !strings.Contains(err.Error(), "is not between 0 and 7") {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

// TestContents verifies that each container is reported before its contents, also if it is empty.
func TestContents(t *testing.T) {
	w := newWorkspace("B", "A")
	w.folder(0, "empty/too")
	w.add(0, w.folder(0, "full"), "a", "jpg", nil)
	var got []string
	for o, err := range w.source().Contents(t.Context(), func(k sources.Key) { got = append(got, string(k)) }) {
		must(t, err)
		got = append(got, string(o.Key))
	}
	if diff := cmp.Diff([]string{"A/", "B/", "B/empty/", "B/empty/too/", "B/full/", "B/full/a.jpg"}, got); diff != "" {
		t.Error(diff)
	}
}
