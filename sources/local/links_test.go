package local_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
	"assetferry/sources/local"
	"assetferry/sources/sourcetest"
)

// listing returns the listed keys, each with its obstacle or "ok".
func listing(tb testing.TB, src sources.Source, after sources.Key) [][2]string {
	tb.Helper()
	var list [][2]string
	for o, err := range src.Objects(tb.Context(), after) {
		must(tb, err)
		what := string(o.Obstacle)
		if what == "" {
			what = "ok"
		}
		list = append(list, [2]string{string(o.Key), what})
	}
	return list
}

func wantListing(tb testing.TB, src sources.Source, want ...[2]string) {
	tb.Helper()
	if diff := cmp.Diff(want, listing(tb, src, "")); diff != "" {
		tb.Errorf("listing (-want +got):\n%s", diff)
	}
	if err := sourcetest.Check(tb.Context(), src); err != nil {
		tb.Error(err)
	}
}

const (
	ok     = "ok"
	link   = string(sources.Symlink)
	broken = string(sources.BrokenSymlink)
)

func linkedTree(t *testing.T) *tree {
	t.Helper()
	tree := newTree(t)
	outside := filepath.Join(filepath.Dir(tree.root), "outside")
	must(t, os.MkdirAll(outside, 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	tree.write("dir/file", []byte("in dir"))
	tree.write("dir/sub/deep", []byte("deep"))
	tree.write("real", []byte("real"))
	tree.link("real", "l-file")
	tree.link("dir", "l-dir")
	tree.write("l-dir!", nil) // sorts between "l-dir" and "l-dir/"
	tree.link("dir/../real", "l-dots")
	tree.link("l-file", "l-link")
	tree.link("../../real", "dir/sub/l-up")
	tree.link("nowhere", "x-dangling")
	tree.link("../outside/secret", "x-escapes")
	tree.link("../outside", "x-escapes-dir")
	tree.link(filepath.Join(tree.root, "real"), "x-absolute")
	tree.link("x-loop2", "x-loop1")
	tree.link("x-loop1", "x-loop2")
	tree.link("../..", "dir/sub/y-root")
	tree.link(".", "dir/y-self")
	return tree
}

func TestLinksAreSkipped(t *testing.T) {
	wantListing(t, linkedTree(t).source(local.Options{}),
		[2]string{"dir/file", ok},
		[2]string{"dir/sub/deep", ok},
		[2]string{"dir/sub/l-up", link},
		[2]string{"dir/sub/y-root", link},
		[2]string{"dir/y-self", link},
		[2]string{"l-dir", link},
		[2]string{"l-dir!", ok},
		[2]string{"l-dots", link},
		[2]string{"l-file", link},
		[2]string{"l-link", link},
		[2]string{"real", ok},
		[2]string{"x-absolute", link},
		[2]string{"x-dangling", link},
		[2]string{"x-escapes", link},
		[2]string{"x-escapes-dir", link},
		[2]string{"x-loop1", link},
		[2]string{"x-loop2", link},
	)
}

func TestLinksAreFollowed(t *testing.T) {
	wantListing(t, linkedTree(t).source(local.Options{Symlinks: local.Follow}),
		[2]string{"dir/file", ok},
		[2]string{"dir/sub/deep", ok},
		[2]string{"dir/sub/l-up", ok},
		[2]string{"dir/sub/y-root", link},
		[2]string{"dir/y-self", link},
		[2]string{"l-dir!", ok},
		[2]string{"l-dir/file", ok},
		[2]string{"l-dir/sub/deep", ok},
		[2]string{"l-dir/sub/l-up", ok},
		[2]string{"l-dir/sub/y-root", link},
		[2]string{"l-dir/y-self", link},
		[2]string{"l-dots", ok},
		[2]string{"l-file", ok},
		[2]string{"l-link", ok},
		[2]string{"real", ok},
		[2]string{"x-absolute", broken},
		[2]string{"x-dangling", broken},
		[2]string{"x-escapes", broken},
		[2]string{"x-escapes-dir", broken},
		[2]string{"x-loop1", broken},
		[2]string{"x-loop2", broken},
	)
}

// TestRootIsALink verifies that the root may be a symbolic link.
func TestRootIsALink(t *testing.T) {
	tree := newTree(t)
	tree.write("file", nil)
	alias := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(tree.root, alias))
	src, err := local.New(alias, local.Options{})
	must(t, err)
	wantListing(t, src, [2]string{"file", ok})
}

func TestKeysDoNotLeadOut(t *testing.T) {
	tree := linkedTree(t)
	for _, symlinks := range []local.Symlinks{local.Skip, local.Follow} {
		src := tree.source(local.Options{Symlinks: symlinks})
		for _, key := range []sources.Key{
			"../outside/secret", "dir/../../outside/secret", "x-escapes", "x-escapes-dir/secret", "x-absolute",
			sources.Key(filepath.ToSlash(filepath.Dir(tree.root))) + "/outside/secret",
			"", ".", "..", "/", "dir/", "./real", "dir/../real", "dir//file", "real/", "real\x00",
		} {
			o := sources.Object{Key: key, Size: 6, Time: tree.now.UTC()}
			r, err := src.Open(t.Context(), o, 0)
			if err == nil {
				content, _ := io.ReadAll(r)
				t.Errorf("%q opens and reads %q", key, content)
				r.Close()
			}
			if e, ok := errors.AsType[*sources.Error](err); !ok || e.Key != key {
				t.Errorf("%q: got %v, want a sources.Error with the key", key, err)
			}
		}
	}
}

// TestReplacedByALink verifies that a listed file which was replaced by a link or a directory is
// not opened.
func TestReplacedByALink(t *testing.T) {
	for name, test := range map[string]struct {
		replace func(*tree)
		want    error
	}{
		"link that leads out":  {func(t *tree) { t.link("../outside", "file") }, sources.ErrChanged},
		"link that leads away": {func(t *tree) { t.link("nowhere", "file") }, fs.ErrNotExist},
		"directory":            {func(t *tree) { t.write("file/x", nil) }, sources.ErrChanged},
		"nothing":              {func(*tree) {}, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.write("file", nil)
			src := tree.source(local.Options{})
			o := only(t, src)
			must(t, os.Remove(tree.path("file")))
			test.replace(tree)
			if _, err := src.Open(t.Context(), o, 0); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// only returns the one object of a source.
func only(tb testing.TB, src sources.Source) sources.Object {
	tb.Helper()
	var last sources.Object
	n := 0
	for o, err := range src.Objects(tb.Context(), "") {
		must(tb, err)
		last = o
		n++
	}
	if n != 1 {
		tb.Fatalf("%d objects, want 1", n)
	}
	return last
}
