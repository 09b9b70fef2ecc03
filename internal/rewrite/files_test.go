package rewrite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	must(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	must(tb, os.WriteFile(path, []byte(text), 0o640))
}

func readFile(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	must(tb, err)
	return string(text)
}

// to is a rewriting to another text.
func to(text string) func(io.Reader, io.Writer) (bool, error) {
	return func(from io.Reader, to io.Writer) (bool, error) {
		was, err := io.ReadAll(from)
		if err != nil {
			return false, err
		}
		_, err = io.WriteString(to, text)
		return string(was) != text, err
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.html")
	writeFile(t, path, "one")
	for n, text := range []string{"two", "three", "four"} {
		original, err := Replace(path, to(text))
		must(t, err)
		want := path + originalEnding
		if n > 0 {
			want += fmt.Sprint(".", n)
		}
		if was := []string{"one", "two", "three"}[n]; original != want || readFile(t, original) != was || readFile(t, path) != text {
			t.Errorf("%s: original %s", text, original)
		}
	}
	if original, err := Replace(path, to("four")); err != nil || original != "" {
		t.Errorf("nothing changed: original %q (%v)", original, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	onlyThese(t, dir, "a.html", "a.html.orig", "a.html.orig.1", "a.html.orig.2")
}

func onlyThese(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// A crash between the two renamings leaves the file as it was, under both names. The next
// try needs no third one.
func TestReplaceAfterCrash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.html")
	writeFile(t, path, "one")
	if err := os.Link(path, path+originalEnding); err != nil {
		t.Skip(err)
	}
	original, err := Replace(path, to("two"))
	must(t, err)
	if original != path+originalEnding || readFile(t, original) != "one" || readFile(t, path) != "two" {
		t.Errorf("original %s", original)
	}
	onlyThese(t, dir, "a.html", "a.html.orig")
}

// What fails leaves everything as it was.
func TestReplaceFails(t *testing.T) {
	failure := errors.New("failure")
	for name, rewrite := range map[string]func(path string) error{
		"reading": func(string) error { return failure },
		"writing meanwhile": func(path string) error {
			return os.WriteFile(path, []byte("one, edited"), 0o600)
		},
		"replacing meanwhile": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("one, edited"), 0o600), os.Rename(path+".new", path))
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.html")
		writeFile(t, path, "one")
		_, err := Replace(path, func(from io.Reader, w io.Writer) (bool, error) {
			if _, err := to("two")(from, w); err != nil {
				return false, err
			}
			return true, rewrite(path)
		})
		if !errors.Is(err, failure) && !errors.Is(err, ErrChanged) {
			t.Errorf("%s: got %v", name, err)
		}
		if text := readFile(t, path); !strings.HasPrefix(text, "one") {
			t.Errorf("%s: the file is %q", name, text)
		}
		onlyThese(t, dir, "a.html")
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.html", "b.JPG", "c", "sub/d.sql", "sub/d.sql.orig", "sub/d.sql.orig.12", ".git/e.txt", ".f.html-x" + draftEnding, ".htaccess"} {
		writeFile(t, filepath.Join(dir, name), "text")
	}
	writeFile(t, filepath.Join(dir, "zero.txt"), "a\x00b")
	must(t, os.Symlink("a.html", filepath.Join(dir, "link.html")))
	list := func(all bool, paths ...string) (found []string) {
		for f, err := range Files(paths, all) {
			must(t, err)
			name, err := filepath.Rel(dir, f.Path)
			must(t, err)
			if f.Skip != "" {
				name += ": " + f.Skip
			}
			found = append(found, name)
		}
		return found
	}
	skipped := []string{".f.html-x.assetferry-draft: " + SkipDraft, "sub/d.sql.orig: " + SkipKept, "sub/d.sql.orig.12: " + SkipKept, "link.html: " + SkipLink, "zero.txt: " + SkipBinary}
	for _, tt := range []struct {
		all  bool
		want []string
	}{
		{false, []string{"a.html", "sub/d.sql"}},
		{true, []string{"a.html", "b.JPG", "c", "sub/d.sql", ".htaccess"}},
	} {
		got, want := list(tt.all, dir), slices.Concat(tt.want, skipped)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("all %v:\n got %q\nwant %q", tt.all, got, want)
		}
	}
	if got := list(false, filepath.Join(dir, "c"), filepath.Join(dir, "link.html")); !slices.Equal(got, []string{"c", "a.html"}) {
		t.Errorf("named: got %q", got)
	}
	for _, err := range Files([]string{filepath.Join(dir, "nowhere")}, false) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}
