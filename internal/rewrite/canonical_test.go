package rewrite

import (
	"testing"

	"golang.org/x/text/unicode/norm"
)

// FuzzCanonical verifies that the short way of Canonical has the result of the long way.
func FuzzCanonical(f *testing.F) {
	for _, url := range []string{
		"https://cdn.example.com/img/a.jpg", "HTTP://CDN.example.com:80/a?b#c", "//host/a%20b", "/a/b#c?d", "//", "///a", "https:/a", "https:", "/",
		"ftp://host/a", "//host", "https://host/a?b", "//ho%73t/a", "//h\u00f6st/\u00e5", "https:///a", "https://host#/a", "//host:443/a", "/\xff",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if got, want := Canonical(url), canonical(url, norm.NFC.Bytes); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	})
}
