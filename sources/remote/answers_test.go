package remote

import (
	"strings"
	"testing"
)

func FuzzParseRange(f *testing.F) {
	for _, text := range []string{"bytes 5-9/10", "bytes */10", "bytes 5-9/*", "bytes 9-5/1", "5-9/10", "bytes -5-9/10"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if first, total, ok := ParseRange(text); ok && (first < 0 || total <= first || !strings.HasPrefix(text, "bytes ")) {
			t.Errorf("%q: byte %d of %d", text, first, total)
		}
	})
}
