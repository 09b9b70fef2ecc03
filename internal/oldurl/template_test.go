package oldurl

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/oldurl/oldurltest"
)

func templateOf(tb testing.TB, text string, widths ...int) *Template {
	tb.Helper()
	t, err := ParseTemplate(text, widths)
	must(tb, err)
	return t
}

// templates are those that people have.
var templates = []string{
	"/${path}", "/files/${path}", "https://cdn.example.com/${path}", "https://cdn.example.com:8443/w_${width}/${path}",
	"https://x.example/wp-content/uploads/${folder}/${stem}-${width}x${height}.${ext}", "/_thumbs/${folder}/w${width}/${name}",
	"/media/${path}/v1/w_${width},h_${height}/${name}", "/img.php?src=${path}&w=${width}", "/a b/${folder}/x-${name}", "/i/${path}.webp",
	"/x?dir=${folder}&file=${name}", "/${folder}/${stem}${width}.${ext}", "/${name}/${folder}/${name}", "/${folder}/${ext}/${stem}.${width}.${ext}",
}

func TestURL(t *testing.T) {
	const key = "2024/spring/harbour 1.tar.gz"
	var got []string
	for _, text := range templates {
		rawURL, ok := templateOf(t, text).url(key, 320, 200)
		if !ok {
			t.Errorf("%s: no URL", text)
		}
		got = append(got, rawURL)
	}
	want := []string{
		"/2024/spring/harbour%201.tar.gz", "/files/2024/spring/harbour%201.tar.gz", "https://cdn.example.com/2024/spring/harbour%201.tar.gz",
		"https://cdn.example.com:8443/w_320/2024/spring/harbour%201.tar.gz",
		"https://x.example/wp-content/uploads/2024/spring/harbour%201.tar-320x200.gz", "/_thumbs/2024/spring/w320/harbour%201.tar.gz",
		"/media/2024/spring/harbour%201.tar.gz/v1/w_320,h_200/harbour%201.tar.gz", "/img.php?src=2024/spring/harbour%201.tar.gz&w=320",
		"/a%20b/2024/spring/x-harbour%201.tar.gz", "/i/2024/spring/harbour%201.tar.gz.webp", "/x?dir=2024/spring&file=harbour%201.tar.gz",
		"/2024/spring/harbour%201.tar320.gz", "/harbour%201.tar.gz/2024/spring/harbour%201.tar.gz", "/2024/spring/gz/harbour%201.tar.320.gz",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"/_thumbs/${folder}/w${width}/${name}": "/_thumbs/w320/top.jpg",
		"/x?dir=${folder}&file=${name}":        "/x?dir=&file=top.jpg",
		"/${folder}/${name}":                   "/top.jpg",
	} {
		if got, _ := templateOf(t, text).URL("top.jpg", 320); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for _, key := range []string{"a/README", "a/.htaccess", "trailing."} {
		if got, ok := templateOf(t, "/${folder}/${stem}-${width}.${ext}").URL(key, 320); ok {
			t.Errorf("%s: got %s", key, got)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]struct {
		msg string
		at  int
	}{
		"${path}":                       {"must begin with https://", 0},
		"files/${path}":                 {"must begin with https://", 0},
		"//cdn.example.com/${path}":     {"must begin with https://", 0},
		"ftp://a.example/${path}":       {"must begin with https://", 0},
		"https://${path}":               {"a host and a path are missing", 8}, // a host ends at the slash
		"https://x${path}/a":            {"placeholder is allowed only in the path", 9},
		"https:///${path}":              {"a host and a path are missing", 8},
		"https://a.example":             {"the path is missing", 8},
		"https://anna:secret@a/${path}": {"password", 8},
		"https://exämple.com/${path}":   {"ASCII form", 8},
		"/ä/${key}":                     {"unknown placeholder ${key}", 3},
		"/${path | lower}":              {"expressions are not supported", 1},
		"/x/${path":                     {"missing", 3},
		"/x/${path}#a":                  {"fragment", 10},
		"/x/\t${path}":                  {"control", 3},
		"/x":                            {"does not identify an object", 0},
		"/${folder}/x":                  {"does not identify an object", 0},
		"/${name}":                      {"add ${folder}/", 0},
		"/${stem}.${ext}":               {"add ${folder}/", 0},
		"/${folder}/${stem}.webp":       {"add ${ext}", 0},
		"/${folder}${name}":             {"${folder} needs a slash", 0},
		"/${path}-${height}":            {"${height} needs ${width}", 0},
		"/../${path}":                   {"web servers resolve", 0},
		"/100%/${path}":                 {"percent sign as %25", 0},
		"/x?a=ä&b=${path}":              {"encoded", 0},
	} {
		_, err := ParseTemplate(text, nil)
		e, ok := errors.AsType[*TemplateError](err)
		if !ok || !strings.Contains(e.Msg, want.msg) && text != "https://${path}" || e.At != want.at || strings.Contains(e.Msg, "secret") {
			t.Errorf("%s: got %v at %+v, want something with %q at %d", text, err, e, want.msg, want.at)
		}
	}
	for _, widths := range [][]int{{0}, {100_000}} {
		if _, err := ParseTemplate("/${path}-${width}", widths); err == nil {
			t.Errorf("widths %v are accepted", widths)
		}
	}
	if _, err := ParseTemplate("/${path}", []int{320}); err == nil || !strings.Contains(err.Error(), "widths need ${width}") {
		t.Errorf("widths without a placeholder: %v", err)
	}
}

// keysOf are the keys that a URL may have been built from.
func keysOf(t *testing.T, template *Template, rawURL string) (all []match) {
	t.Helper()
	if s, ok := spell(rawURL); ok {
		all = template.matches(s)
	}
	return all
}

func TestMatches(t *testing.T) {
	wordpress := "https://x.example/up/${folder}/${stem}-${width}x${height}.${ext}"
	for _, c := range []struct {
		template, url string
		want          []match
	}{
		{wordpress, "https://x.example/up/2024/a-300x200.jpg", []match{{"2024/a.jpg", 300}}},
		{wordpress, "http://X.EXAMPLE/up/a-b-300x200.jpg?v=1", nil},
		{wordpress, "//x.example/up/a-1x2-300x200.jpg#top", []match{{"a-1x2.jpg", 300}}},
		{wordpress, "/up/a-300x200.jpg", nil},
		{wordpress, "https://x.example/up/2024/-300x200.jpg", nil},
		{wordpress, "https://x.example/up/2024/a-0300x200.jpg", nil},
		{"/f/${path}", "/f/a%20b/%C3%A5.jpg", []match{{"a b/å.jpg", 0}, {"a b/a\u030a.jpg", 0}}},
		{"/f/${path}", "/f/100%.jpg", []match{{"100%.jpg", 0}}},
		{"/f/${path}", "/f/a//b", nil},
		{"/f/${path}", "/f/../b", nil},
		{"/f/${path}", "/f/", nil},
		{"/f/${path}", "https://x.example/f/a", nil},
		{"/${folder}/${stem}${width}.${ext}", "/a/photo12.jpg", []match{{"a/photo1.jpg", 2}, {"a/photo.jpg", 12}}},
		{"/img?src=${path}&w=${width}", "/img?src=a+b%2Fc%26.jpg&w=320", []match{{"a b/c&.jpg", 320}}},
		{"/img?src=${path}&w=${width}", "/img?src=a.jpg&w=x", nil},
	} {
		if diff := cmp.Diff(c.want, keysOf(t, templateOf(t, c.template), c.url), cmp.AllowUnexported(match{})); diff != "" {
			t.Errorf("%s by %s (-want +got):\n%s", c.url, c.template, diff)
		}
	}
	known := templateOf(t, "/${folder}/${stem}-${width}.${ext}", 320, 640)
	if got := keysOf(t, known, "/photo-2.jpg"); got != nil {
		t.Errorf("a width that there is not: %v", got)
	}
}

func TestBeginning(t *testing.T) {
	for text, want := range map[string]string{
		"/${path}":            "/",
		"/files/x${path}":     "/files/",
		"/a/my files/${path}": "/a/",
		"https://CDN.example.com/x/w_${width}/${path}": "//cdn.example.com/x/",
		"http://a.example/${folder}/${name}":           "//a.example/",
	} {
		if got := templateOf(t, text).Beginning(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestComparable(t *testing.T) {
	for in, want := range map[string]string{
		"https://A.example/%c3%a5/b c.jpg?x=1#y": "//a.example/%C3%A5/b%20c.jpg?x=1",
		"//a.example/a\u030a":                    "//a.example/%C3%A5",
		"http://anna:secret@a.example/b":         "//a.example/b",
		"/b":                                     "/b",
		"b/c.jpg":                                "",
		"https://a.example":                      "",
		"mailto:a@example.com":                   "",
		"http:b":                                 "",
		"":                                       "",
	} {
		if got := Comparable(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestPresentable(t *testing.T) {
	for in, want := range map[string]string{
		"https://anna:secret@a.example/b c#d": "https://a.example/b%20c",
		"//anna@a.example/b?x=@":              "//a.example/b?x=@",
		"/a//b@c":                             "/a//b@c",
		"https://a.example/%C3%A5":            "https://a.example/%C3%A5",
	} {
		if got := Presentable(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// FuzzTemplate verifies that the possible keys of the URL of an object include its key, that
// browsers send the URL unchanged, and that each possible key gives the same URL.
func FuzzTemplate(f *testing.F) {
	for n, key := range oldurltest.Hostile() {
		f.Add(key, uint8(n), uint16(n))
		f.Add("a/b-1x2/"+key+"-320x200.jpg", uint8(n), uint16(n))
		f.Add("a/1.2-"+key+"/320.3", uint8(n), uint16(n))
	}
	f.Fuzz(func(t *testing.T, key string, which uint8, at uint16) {
		if !oldurltest.IsKey(key) || len(key) > 300 {
			return
		}
		template, at := templateOf(t, templates[int(which)%len(templates)]), at|1
		rawURL, ok := template.url(key, int(at), 7)
		if !ok {
			return
		}
		if u, err := url.Parse(rawURL); err != nil || u.Fragment != "" || Clean(rawURL) != rawURL || !utf8.ValidString(rawURL) {
			t.Errorf("%q became %s: %+v (%v)", key, rawURL, u, err)
		}
		all := keysOf(t, template, rawURL)
		want := match{key, 0}
		if template.HasSizes() {
			want.width = int(at)
		}
		if !slices.Contains(all, want) && len(all) < maxMatches {
			t.Errorf("%q became %s, and that %v", key, rawURL, all)
		}
		for _, m := range all {
			again, ok := template.url(m.key, m.width, 7)
			if !ok || Comparable(again) != Comparable(rawURL) {
				t.Errorf("%s was read as %+v, which becomes %s", rawURL, m, again)
			}
		}
		if !strings.HasPrefix(Comparable(rawURL), template.Beginning()) {
			t.Errorf("%s does not begin with %s", rawURL, template.Beginning())
		}
	})
}
