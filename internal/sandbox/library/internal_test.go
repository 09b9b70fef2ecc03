package library

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 999: "999 B", 1000: "1.0 kB", 1500: "1.5 kB", 999_949: "999.9 kB", 999_950: "1.0 MB",
		20_000_000_000: "20.0 GB", 3_000_000_000_000_000: "3.0 PB",
	} {
		if got := size(n); got != want {
			t.Errorf("size of %d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 assets", 1: "1 asset", 2: "2 assets", 1000: "1,000 assets", 1234567: "1,234,567 assets"} {
		if got := count(n, "asset", "assets"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestKindsOfFiles(t *testing.T) {
	for contentType, want := range map[string]struct {
		kind         string
		opens, plays bool
	}{
		"image/png": {"image", true, false}, "image/svg+xml": {"text", false, false}, "text/html": {"text", false, false},
		"text/plain": {"text", true, false}, "application/xml": {"text", false, false}, "text/javascript": {"text", false, false},
		"video/mp4": {"video", true, true}, "audio/ogg": {"audio", true, true}, "application/pdf": {"document", true, false},
		"application/zip": {"archive", false, false}, "font/woff2": {"font", false, false}, "application/octet-stream": {"other", false, false},
	} {
		if kind := kindOf(Asset{Type: contentType}); kind != want.kind || opens(contentType) != want.opens || playable(contentType) != want.plays {
			t.Errorf("%s: %s, opens %v, plays %v", contentType, kind, opens(contentType), playable(contentType))
		}
	}
}

func TestMarkOfAsset(t *testing.T) {
	const value = "1.0123456789abcdef0123456789abcdef.00ff00ff00ff00ff.asset"
	found := mark{Source: "0123456789abcdef0123456789abcdef", Content: "00ff00ff00ff00ff"}
	copied, replaced := found, found
	copied.Copied, replaced.Replaced = true, true
	for name, c := range map[string]struct {
		id, checksum, attribute, value string
		want                           mark
	}{
		"its own":         {"asset", "00ff00ff00ff00ff1234", "assetferry", value, found},
		"of another":      {"copy", "00ff00ff00ff00ff1234", "assetferry", value, copied},
		"of old content":  {"asset", "11ff00ff00ff00ff1234", "assetferry", value, replaced},
		"none":            {"asset", "00ff00ff00ff00ff1234", "other", value, mark{}},
		"something else":  {"asset", "00ff00ff00ff00ff1234", "assetferry", "hello", mark{}},
		"a later version": {"asset", "00ff00ff00ff00ff1234", "assetferry", "2" + value[1:], mark{}},
	} {
		got := markOf(Details{Asset: Asset{ID: c.id}, Checksum: c.checksum, Attributes: []Attribute{{c.attribute, c.value}}})
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPicturesFitIntoTheirSquare(t *testing.T) {
	for _, c := range []struct{ width, height, wantWidth, wantHeight int }{
		{800, 600, 400, 300}, {600, 800, 300, 400}, {100, 50, 100, 50}, {5000, 1, 400, 1}, {1, 9000, 1, 400}, {401, 401, 400, 400},
	} {
		if got := box(Asset{Width: c.width, Height: c.height}, 400); got != (dimension{c.wantWidth, c.wantHeight}) {
			t.Errorf("%d × %d: %v", c.width, c.height, got)
		}
	}
}

// The URL of a page leads back to that page, whatever it contained before.
func FuzzListing(f *testing.F) {
	for _, query := range []string{"", "page=3", "sort=size&order=desc&view=table&q=a+b&page=0", "q=%FF&category=%26", "sort=;&&=&page=1e9"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		at := func(query string) *listing {
			r := httptest.NewRequest(http.MethodGet, "/here", nil)
			r.URL.RawQuery = query
			return listingOf(r, Order{By: ByUploaded, Descending: true}, "q", "category")
		}
		l := at(query)
		r, err := http.NewRequest(http.MethodGet, l.URL(l.Page), nil)
		if err != nil {
			t.Fatal(err)
		}
		again := at(r.URL.RawQuery)
		if l.Page != again.Page || l.Order != again.Order || l.Table != again.Table || !maps.EqualFunc(l.fixed, again.fixed, slices.Equal) {
			t.Errorf("%q leads to %+v, and that to %+v", query, l, again)
		}
		if l.Page < 1 {
			t.Errorf("page %d", l.Page)
		}
	})
}
