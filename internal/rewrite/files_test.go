package rewrite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
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

// to returns a rewrite function that writes this text.
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

// backupOf returns a backup outside of the files.
func backupOf(tb testing.TB) *Backup {
	tb.Helper()
	b, err := NewBackup(tb.TempDir(), time.Now())
	must(tb, err)
	return b
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.html")
	writeFile(t, path, "one")
	for n, text := range []string{"two", "three", "four"} {
		backup := backupOf(t)
		original, err := Replace(path, backup, to(text))
		must(t, err)
		if was := []string{"one", "two", "three"}[n]; !strings.HasPrefix(original, backup.Dir()) || readFile(t, original) != was || readFile(t, path) != text {
			t.Errorf("%s: original %s", text, original)
		}
		if info, err := os.Stat(backup.Dir()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("the backup has mode %v (%v)", info.Mode(), err)
		}
	}
	if original, err := Replace(path, backupOf(t), to("four")); err != nil || original != "" {
		t.Errorf("nothing changed: original %q (%v)", original, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	onlyThese(t, dir, "a.html") // no other file that a web server could serve
}

// TestReplaceTwice verifies that an original in the backup is never replaced, not even by a second
// call of Replace with the same backup.
func TestReplaceTwice(t *testing.T) {
	path, backup := filepath.Join(t.TempDir(), "a.html"), backupOf(t)
	writeFile(t, path, "one")
	original, err := Replace(path, backup, to("two"))
	must(t, err)
	if _, err := Replace(path, backup, to("three")); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	if readFile(t, original) != "one" || readFile(t, path) != "two" {
		t.Error("the original was replaced")
	}
}

func TestRestore(t *testing.T) {
	dir, backup := t.TempDir(), backupOf(t)
	for _, name := range []string{"a.html", "sub/b.php"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		writeFile(t, path, "one")
		_, err := Replace(path, backup, to("two"))
		must(t, err)
	}
	second, restored := backupOf(t), 0
	for range 2 {
		for o, err := range Originals(backup.Dir()) {
			must(t, err)
			differs, err := o.Differs()
			must(t, err)
			if !differs {
				continue
			}
			now, err := o.Restore(second)
			must(t, err)
			if restored++; readFile(t, o.Path) != "one" || readFile(t, now) != "two" {
				t.Errorf("%s is %q", o.Path, readFile(t, o.Path))
			}
		}
	}
	if restored != 2 {
		t.Errorf("%d files restored, want 2", restored)
	}
	for _, dir := range []string{dir, filepath.Join(dir, "nowhere")} {
		for _, err := range Originals(dir) {
			if !errors.Is(err, ErrNoBackup) {
				t.Errorf("%s: got %v", dir, err)
			}
		}
	}
}

func TestBackupIsWithin(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site")
	must(t, os.Mkdir(site, 0o700))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(site, link); err != nil {
		t.Skip(err)
	}
	for root, want := range map[string]bool{
		dir: false, site: true, filepath.Join(site, "new", "deep"): true, filepath.Join(link, "new"): true, filepath.Join(dir, "site2"): false,
		filepath.Join(dir, "site", "..", "x"): false,
	} {
		b, err := NewBackup(root, time.Now())
		must(t, err)
		for _, folder := range []string{site, link} {
			if got, err := b.IsWithin(folder); err != nil || got != want {
				t.Errorf("%s in %s: %v, %v", root, folder, got, err)
			}
		}
	}
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

// TestReplaceFails verifies that a failed replacement changes no file.
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
		_, err := Replace(path, backupOf(t), func(from io.Reader, w io.Writer) (bool, error) {
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
	for _, name := range []string{"a.html", "b.JPG", "c", "sub/d.sql", "sub/d.sql.orig", "sub/d.sql.orig.12", ".git/e.txt", "x" + backupEnding + "/e.txt", ".f.html-x" + draftEnding, ".htaccess"} {
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
	if got := list(false, filepath.Join(dir, "sub"), filepath.Join(dir, "b.JPG"), filepath.Join(dir, "c")); !slices.Equal(got, []string{"sub/d.sql", "sub/d.sql.orig: " + SkipKept, "sub/d.sql.orig.12: " + SkipKept, "b.JPG", "c"}) {
		t.Errorf("several: got %q", got)
	}
	for _, err := range Files([]string{filepath.Join(dir, "nowhere")}, false) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}

// TestFilesOfLinkedFolder verifies that a named folder may be a link, such as one to the current
// release. Links within a folder are skipped; those to folders are reported, whatever their names.
func TestFilesOfLinkedFolder(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "releases", "42", "a.html"), "text")
	writeFile(t, filepath.Join(dir, "uploads", "b.html"), "text")
	for name, to := range map[string]string{"current": "releases/42", "releases/42/media": "../../uploads", "releases/42/a.jpg": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	want := []File{{Path: filepath.Join(dir, "current", "a.html")}, {filepath.Join(dir, "current", "media"), SkipLink}}
	var got []File
	for f, err := range Files([]string{filepath.Join(dir, "current")}, false) {
		must(t, err)
		got = append(got, f)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestNotText verifies the errors for files that cannot be rewritten: for a named file, for a file
// of a folder with a text extension, and for a pipe. A pipe may contain anything that needs no
// decoding.
func TestNotText(t *testing.T) {
	for name, tt := range map[string]struct {
		text            string
		named, in, pipe error // in: in a folder, where binary files are skipped
	}{
		"text":            {"a", nil, nil, nil},
		"empty":           {"", nil, nil, nil},
		"Latin 1":         {"\xe9t\xe9 \xff\xff", nil, nil, nil},
		"UTF-8":           {"\xef\xbb\xbfa", nil, nil, nil},
		"zero":            {"text\x00", ErrBinary, nil, nil},
		"PDF":             {"%PDF-1.7\n", ErrBinary, nil, nil},
		"UTF-16":          {"\xff\xfe<\x00", ErrUTF16, ErrUTF16, ErrUTF16},
		"UTF-16, swapped": {"\xfe\xff\x00<", ErrUTF16, ErrUTF16, ErrUTF16},
		"UTF-16, bare":    {"<\x00h\x00", ErrUTF16, ErrUTF16, ErrUTF16},
		"gzip":            {"\x1f\x8b\x08\x08aaaa", ErrCompressed, nil, ErrCompressed},
		"bzip2":           {"BZh91AY", ErrCompressed, nil, ErrCompressed},
		"xz":              {"\xfd7zXZ\x00\x00", ErrCompressed, nil, ErrCompressed},
		"zstd":            {"\x28\xb5\x2f\xfd\x04", ErrCompressed, nil, ErrCompressed},
		"zip":             {"PK\x03\x04\x14", ErrCompressed, nil, ErrCompressed},
	} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "a.txt"), tt.text)
		for path, want := range map[string]error{filepath.Join(dir, "a.txt"): tt.named, dir: tt.in} {
			for f, err := range Files([]string{path}, false) {
				if !errors.Is(err, want) || path == dir && tt.in != tt.named && f.Skip != SkipBinary {
					t.Errorf("%s, as %s: got %v (%v)", name, path, f, err)
				}
			}
		}
		from, err := Decoded(strings.NewReader(tt.text))
		if !errors.Is(err, tt.pipe) {
			t.Errorf("%s, piped: got %v", name, err)
		} else if text, rerr := io.ReadAll(from); err == nil && (rerr != nil || string(text) != tt.text) {
			t.Errorf("%s, piped: got %q (%v)", name, text, rerr)
		}
	}
	for _, err := range Files([]string{os.DevNull}, false) {
		if !errors.Is(err, ErrNoFile) {
			t.Errorf("%s: got %v", os.DevNull, err)
		}
	}
}

// TestDraftsOfNamedFiles verifies that drafts which an interrupted rewrite of a named file left are
// found, and that drafts of other files are not.
func TestDraftsOfNamedFiles(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("é", 120) + ".html" // leaves little room for the ending of the draft
	for _, name := range []string{"a.html", "b.html", long} {
		path := filepath.Join(dir, name)
		writeFile(t, path, "one")
		writeFile(t, draftOf(path), "tw")
		if _, err := Replace(path, backupOf(t), to("two")); err != nil {
			t.Error(err)
		}
	}
	var found []string
	for f, err := range Files([]string{filepath.Join(dir, "a.html"), filepath.Join(dir, long)}, false) {
		must(t, err)
		if f.Skip == SkipDraft {
			found = append(found, filepath.Base(f.Path)[:8])
		}
	}
	slices.Sort(found)
	if want := []string{".a.html-", "." + long[:7]}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

// TestReplaceHardLink verifies that of a file with several hard links, only the named one gets the
// new text: the others may be a backup.
func TestReplaceHardLink(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.html"), filepath.Join(dir, "backup.html")
	writeFile(t, path, "one")
	if err := os.Link(path, backup); err != nil {
		t.Skip(err)
	}
	original, err := Replace(path, backupOf(t), to("two"))
	must(t, err)
	if readFile(t, backup) != "one" || readFile(t, path) != "two" || readFile(t, original) != "one" {
		t.Error("another name of the file has another text now")
	}
}
