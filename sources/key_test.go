package sources

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "a", "a/b.jpg", "/a", "a/", "a//b", "./a", "a/../b", "..", "a\x00b", "\xff", "ä/ü.jpg", strings.Repeat("x", 300)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k := Key(text)
		dir, name := k.Split()
		if joined := strings.TrimPrefix(dir+"/"+name, "/"); dir != "" && joined != strings.TrimPrefix(text, "/") {
			t.Errorf("%q splits into %q and %q", text, dir, name)
		}
		if k.Check() != nil {
			return
		}
		if name == "" || !utf8.ValidString(text) || strings.HasPrefix(text, "/") || len(text) > MaxKeyLength {
			t.Errorf("%q passes", text)
		}
		for segment := range strings.SplitSeq(text, "/") {
			if segment == "" || segment == "." || segment == ".." {
				t.Errorf("%q passes, and leads elsewhere", text)
			}
		}
	})
}
