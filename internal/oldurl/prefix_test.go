package oldurl

import (
	"cmp"
	"net/url"
	"strings"
	"testing"

	"assetferry/internal/oldurl/oldurltest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestParsePrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"":                                "/a%20b",
		"/":                               "/a%20b",
		"/files/":                         "/files/a%20b",
		"https://old.example.com/":        "https://old.example.com/a%20b",
		"http://old.example.com:8080/f/":  "http://old.example.com:8080/f/a%20b",
		"https://old.example.com/my%20f/": "https://old.example.com/my%20f/a%20b",
		"https://old.example.com/my f/":   "https://old.example.com/my%20f/a%20b",
		"/å/":                             "/%C3%A5/a%20b",
	} {
		p, err := ParsePrefix(prefix)
		if got := urlOf(p, "a b"); err != nil || got != want {
			t.Errorf("%s: got %s (%v), want %s", prefix, got, err, want)
		}
		if got, ok := p.Template().URL("a b", 0); !ok || got != want {
			t.Errorf("template of %s: got %s, want %s", prefix, got, want)
		}
	}
	for prefix, want := range map[string]string{
		"files/":                         "must begin with https://",
		"//old.example.com/files/":       "must begin with https://",
		"ftp://old.example.com/":         "must begin with https://",
		"https:///files/":                "must begin with https://",
		"https://old.example.com":        "slash",
		"/files":                         "slash",
		"https://old.example.com/?file=": "query",
		"/files/?":                       "query",
		"/files/#a":                      "fragment",
		"/a//b/":                         "segment",
		"//":                             "must begin with https://",
		"/a/../b/":                       "segment",
		"/./":                            "segment",
		"https://anna:secret@host/":      "password",
		"https://exämple.com/":           "ASCII form",
		"/%zz/":                          "not a URL",
		"/a\nb/":                         "not a URL",
	} {
		_, err := ParsePrefix(prefix)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want something with %q", prefix, err, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"https://ckbox.cloud/w/assets/-_aZ09/file?download=true#x": "https://ckbox.cloud/w/assets/-_aZ09/file?download=true#x",
		"https://a.example/%C3%A5":                                 "https://a.example/%C3%A5",
		"https://a.example/100%":                                   "https://a.example/100%25",
		"https://a.example/%g1":                                    "https://a.example/%25g1",
		"a\tb\nc\"d\\e f<å>{}|^`":                                  "a%09b%0Ac%22d%5Ce%20f%3C%C3%A5%3E%7B%7D%7C%5E%60",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// FuzzOld verifies that browsers send an old URL unchanged, and that servers decode it to the key.
func FuzzOld(f *testing.F) {
	for _, key := range oldurltest.Hostile() {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if !oldurltest.IsKey(key) {
			return
		}
		p, err := ParsePrefix("https://old.example.com/files/")
		must(t, err)
		old := urlOf(p, key)
		u, err := url.Parse(old)
		must(t, err)
		if u.Path != "/files/"+key || u.RawQuery != "" || u.Fragment != "" || Clean(old) != old {
			t.Errorf("%q became %s, which is %+v", key, old, u)
		}
	})
}

// urlOf returns the old URL of an object from a prefix, without a template.
func urlOf(p Prefix, key string) string { return cmp.Or(p.text, "/") + escapePath(key) }
