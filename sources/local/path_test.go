package local

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/sources"
)

func FuzzToPath(f *testing.F) {
	for _, seed := range []string{"", "a", "a/b", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\\b", "C:", "c:/x", "NUL", "a\x00", "\xff", "...", "a/..b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		path, err := toPath(sources.Key(key))
		if err != nil {
			if filepath.Separator == '/' && fs.ValidPath(key) && key != "." && strings.IndexByte(key, 0) < 0 {
				t.Errorf("%q is refused: %v", key, err)
			}
			return
		}
		if !filepath.IsLocal(path) {
			t.Errorf("%q became %q, which is not local", key, path)
		}
		if clean := filepath.Clean(path); clean != path {
			t.Errorf("%q became %q, which is also %q", key, path, clean)
		}
		if back := filepath.ToSlash(path); back != key {
			t.Errorf("%q became %q, which is the key %q", key, path, back)
		}
	})
}
