package report

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFolderOf(t *testing.T) {
	for key, want := range map[string]string{"a.jpg": "", "a/b.jpg": "a", "a/b/c": "a", "/a": "", "a/": "a", "": "", "../x": ".."} {
		if got := FolderOf(key); got != want {
			t.Errorf("FolderOf(%q) = %q, want %q", key, got, want)
		}
	}
}

// A file named for a folder stays in its directory, whatever the folder is called.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"", "a", "..", ".", "CON", "a b", `..\..\x`, "\x00", "\u202eb", "日本", strings.Repeat("ä", 100), "\xff", "a.", "-rf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, folder string) {
		name := fileName(7, folder)
		switch {
		case filepath.Base(name) != name || !filepath.IsLocal(name), strings.ContainsAny(name, `/\:*?"<>|`):
			t.Errorf("%q leaves its directory or is none for a file", name)
		case !utf8.ValidString(name), len(name) > maxFileName+len("0007-"), !strings.HasPrefix(name, "0007-") || name == "0007-":
			t.Errorf("%q is no name", name)
		}
	})
}
