package sandbox

import (
	"testing"

	"assetferry/internal/sandbox/records"
)

func TestParseBox(t *testing.T) {
	for name, want := range map[string]box{
		"400.webp": {400, 0, "webp"}, "400x300.jpeg": {400, 300, "jpeg"}, "1.gif": {1, 0, "gif"},
		"400": {400, 0, "webp"}, "400x300": {400, 300, "webp"}, "65535.tiff": {65535, 0, "tiff"},
	} {
		if got, err := parseBox(name); got != want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", ".webp", "x.webp", "0.webp", "-1.webp", "+1.webp", "1e3.webp", "65536.webp", "400x.webp", "x300.webp", "400x0.webp",
		"400x300x200.webp", "400.bmp", "400.WEBP", "400.", "400.webp.webp", " 400.webp", "default",
	} {
		if got, err := parseBox(name); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestNearest(t *testing.T) {
	all := records.Widths(1000) // 100, 200, ... 1000
	for wanted, want := range map[int]int{1: 100, 100: 100, 149: 100, 150: 200, 151: 200, 960: 1000, 5000: 1000} {
		if got := nearest(all, wanted); got != want {
			t.Errorf("%d: %d, want %d", wanted, got, want)
		}
	}
}
