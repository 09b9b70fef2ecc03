package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/sources"
	"assetferry/sources/local"
	"assetferry/sources/sourcetest"
)

func TestSource(t *testing.T) {
	for name, symlinks := range map[string]local.Symlinks{"skip": local.Skip, "follow": local.Follow} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
				return newFixture(tb, files, local.Options{Symlinks: symlinks})
			}, sourcetest.Storable(storable))
		})
	}
}

func newFixture(tb testing.TB, files []sourcetest.File, o local.Options) sourcetest.Fixture {
	tb.Helper()
	tree := newTree(tb)
	for _, f := range files {
		tree.write(string(f.Key), f.Content)
	}
	return sourcetest.Fixture{
		Source: tree.source(o),
		Put: func(f sourcetest.File) error {
			tree.write(string(f.Key), f.Content)
			return nil
		},
		Remove: func(k sources.Key) error { return os.Remove(tree.path(string(k))) },
		Vanish: func() error { return os.RemoveAll(tree.root) },
	}
}

// storable reports whether keys can be files in one tree on this system.
func storable(keys ...sources.Key) bool {
	names := make(map[string]bool)
	for _, k := range keys {
		name := fold(string(k))
		if names[name] || !isName(name) {
			return false
		}
		names[name] = true
	}
	for name := range names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if names[dir] {
				return false
			}
		}
	}
	return true
}

// fold maps names that are the same file on some systems to one.
func fold(name string) string {
	if runtime.GOOS == "linux" {
		return name
	}
	return strings.ToLower(norm.NFC.String(name))
}

func isName(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." || len(segment) > 255 {
			return false
		}
	}
	switch runtime.GOOS {
	case "linux":
		return strings.IndexByte(name, 0) < 0
	case "windows":
		if strings.ContainsAny(name, "\x7f\t\r\n\\*?<>|:\"") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
			return false
		}
	}
	return utf8.ValidString(name) && filepath.IsLocal(filepath.FromSlash(name))
}

// A tree is a directory tree for a test.
type tree struct {
	tb   testing.TB
	root string
	now  time.Time // each write is a second later
}

func newTree(tb testing.TB) *tree {
	tb.Helper()
	return &tree{tb: tb, root: filepath.Join(tb.TempDir(), "root"), now: time.Unix(1_800_000_000, 0)}
}

func (t *tree) path(key string) string { return filepath.Join(t.root, filepath.FromSlash(key)) }

func (t *tree) write(key string, content []byte) {
	t.tb.Helper()
	path := t.path(key)
	t.now = t.now.Add(time.Second)
	must(t.tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t.tb, os.WriteFile(path, content, 0o644))
	must(t.tb, os.Chtimes(path, t.now, t.now))
}

func (t *tree) link(target, key string) {
	t.tb.Helper()
	must(t.tb, os.MkdirAll(filepath.Dir(t.path(key)), 0o755))
	must(t.tb, os.Symlink(target, t.path(key)))
}

func (t *tree) source(o local.Options) *local.Source {
	t.tb.Helper()
	must(t.tb, os.MkdirAll(t.root, 0o755))
	src, err := local.New(t.root, o)
	must(t.tb, err)
	return src
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for name, test := range map[string]struct {
		root    string
		exclude []string
		want    error
		text    string
	}{
		"nothing":             {root: filepath.Join(dir, "none"), want: fs.ErrNotExist, text: "not exist"},
		"a file":              {root: file, text: "not a directory"},
		"an excluded root":    {root: dir, exclude: []string{dir}, text: "cannot be a source"},
		"inside an exclusion": {root: dir, exclude: []string{filepath.Dir(dir)}, text: "cannot be a source"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := local.New(test.root, local.Options{Exclude: test.exclude})
			e, ok := errors.AsType[*sources.Error](err)
			if !ok || e.Hint == "" || !strings.Contains(e.Error(), test.text) {
				t.Fatalf("got %v, want a sources.Error with a hint that says %q", err, test.text)
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestIdentityIsAbsoluteAndClean(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.Mkdir("photos", 0o755))
	src, err := local.New("./x/../photos/", local.Options{})
	must(t, err)
	wd, err := os.Getwd()
	must(t, err)
	if got, want := src.Identity(), filepath.Join(wd, "photos"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
