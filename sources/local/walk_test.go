package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assetferry/sources"
	"assetferry/sources/local"
	"assetferry/sources/sourcetest"
)

// TestRandomTrees verifies that a listing of any tree yields its files in the order of their keys,
// and that it can start at any key.
func TestRandomTrees(t *testing.T) {
	dir := t.TempDir()
	name := rapid.StringMatching(`[a-c!.0 é-]{1,3}`).Filter(func(s string) bool { return s != "." && s != ".." })
	key := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(rt, "names"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(dir, "tree")
		must(t, err)
		var want []sources.Key
		for _, k := range rapid.SliceOfNDistinct(key, 1, 25, rapid.ID).Draw(rt, "keys") {
			path := filepath.Join(root, filepath.FromSlash(k))
			// Some keys are impossible: a file has the name of a directory, or the reverse.
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil && os.WriteFile(path, []byte(k), 0o644) == nil {
				want = append(want, sources.Key(k))
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		src, err := local.New(root, local.Options{})
		must(t, err)
		after := sources.Key(key.Draw(rt, "after"))
		var got []sources.Key
		for o, err := range src.Objects(t.Context(), after) {
			must(t, err)
			got = append(got, o.Key)
		}
		i, found := slices.BinarySearch(want, after)
		if found {
			i++
		}
		if !slices.Equal(got, want[i:]) {
			rt.Fatalf("after %q: got %q, want %q", after, got, want[i:])
		}
		if err := sourcetest.Check(t.Context(), src, want...); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestObjects(t *testing.T) {
	tree := newTree(t)
	tree.write("dir/empty", nil)
	must(t, os.MkdirAll(tree.path("no/files/here"), 0o755))
	got := only(t, tree.source(local.Options{}))
	want := sources.Object{Key: "dir/empty", Time: tree.now.UTC()}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, offset := got.Time.Zone(); offset != 0 || got.Time.Location() != time.UTC {
		t.Errorf("time is not in UTC: %v", got.Time)
	}
}

// TestDeepTree verifies that a path longer than the limit of the system is opened step by step.
func TestDeepTree(t *testing.T) {
	tree := newTree(t)
	src := tree.source(local.Options{})
	root, err := os.OpenRoot(tree.root)
	must(t, err)
	defer root.Close()
	key := strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 100)+"/", 60), "/")
	if err := root.MkdirAll(key, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, root.WriteFile(key+"/file", []byte("deep"), 0o644))
	if err := sourcetest.Check(t.Context(), src, sources.Key(key+"/file")); err != nil {
		t.Error(err)
	}
}

// TestChangesDuringTheListing verifies that a file which is deleted before the listing reaches it
// is not listed, that a new one may be listed, and that a replaced one is listed as what it is now.
func TestChangesDuringTheListing(t *testing.T) {
	tree := newTree(t)
	for _, key := range []string{"a", "b", "c/x", "d", "e/x", "f"} {
		tree.write(key, nil)
	}
	var got []sources.Key
	for o, err := range tree.source(local.Options{}).Objects(t.Context(), "") {
		must(t, err)
		if o.Key == "a" {
			must(t, os.Remove(tree.path("b")))
			must(t, os.RemoveAll(tree.path("c")))
			must(t, os.Remove(tree.path("d")))
			tree.write("d/now-a-directory", nil)
			must(t, os.RemoveAll(tree.path("e")))
			tree.write("e", []byte("now a file"))
		}
		got = append(got, o.Key)
	}
	if want := []sources.Key{"a", "d/now-a-directory", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRootGoesAwayDuringTheListing verifies that a root which disappears fails the listing: its
// objects must not look deleted.
func TestRootGoesAwayDuringTheListing(t *testing.T) {
	for name, test := range map[string]struct {
		after func(*tree)
		want  error
	}{
		"removed":  {func(*tree) {}, fs.ErrNotExist},
		"replaced": {func(t *tree) { t.write("a", nil) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.write("a", nil)
			tree.write("b", nil)
			var last error
			for o, err := range tree.source(local.Options{}).Objects(t.Context(), "") {
				last = err
				if o.Key == "a" {
					if err := os.Rename(tree.root, tree.root+"-moved"); err != nil {
						t.Skip("a directory in use cannot be moved here:", err)
					}
					test.after(tree)
				}
			}
			if e, ok := errors.AsType[*sources.Error](last); !ok || e.Op != "list" {
				t.Errorf("got %v, want an error of the listing", last)
			}
			if test.want != nil && !errors.Is(last, test.want) {
				t.Errorf("got %v, want %v", last, test.want)
			}
		})
	}
}
