package rewrite

import (
	"fmt"
	"strings"
	"testing"
)

// TestRoot verifies that the URL of a file without a folder is found where a URL may begin, if its
// name has an extension. Unknown URLs of that form are not reported, because any path could be one.
func TestRoot(t *testing.T) {
	rows := []Row{
		{"/logo.png", asset("logo")}, {"/my%20logo.png", asset("my")}, {"/files/e.png", asset("e")},
		{"https://cdn.example.com/logo.png", asset("cdn")}, {"//other.example.com/files/e.png", asset("other")},
	}
	r, _ := newRewriter(t, rows)
	logo := asset("logo")
	for in, want := range map[string]string{
		`<img src="/logo.png" srcset="/logo.png 1x, /logo.png?v=2 2x"><a href=/logo.png>x</a>`: `<img src="` + logo + `" srcset="` + logo + ` 1x, ` + logo + ` 2x"><a href=` + logo + `>x</a>`,
		`<img src='/my logo.png'> url(/logo.png) [a](/logo.png)`:                               `<img src='` + asset("my") + `'> url(` + logo + `) [a](` + logo + `)`,
		"[r]: /logo.png\n/logo.png":                      "[r]: " + logo + "\n" + logo,
		`{"a":"\/logo.png","b":"\u0022/logo.png\u0022"}`: `{"a":"` + strings.ReplaceAll(logo, "/", `\/`) + `","b":"\u0022` + logo + `\u0022"}`,
		`s:9:"/logo.png";`:                               fmt.Sprintf(`s:%d:"%s";`, len(logo), logo),
		`"https://cdn.example.com/logo.png" "//other.example.com/files/e.png" "/files/e.png"`: `"` + asset("cdn") + `" "` + asset("other") + `" "` + asset("e") + `"`,

		`"../logo.png" "img/logo.png" "./logo.png" {{base}}/logo.png </logo.png/>`: ``,
		`"https://example.com/logo.png" "//example.com/logo.png" "/about/us.html"`: ``,
		`"/x/logo.png" x/logo.png "/logo.png.bak" "/logo.png/"`:                    ``,
	} {
		if want == "" {
			want = in
		}
		got := rewritten(t, r, strings.NewReader(in))
		if got.String() != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		for _, s := range got.spots {
			if s.Kind == Unknown {
				t.Errorf("%s: told of %s", in, s.URL)
			}
		}
	}
	got := rewritten(t, r, strings.NewReader(`"/files/gone.png" "/gone.png"`)).spots
	if len(got) != 1 || got[0].URL != "/files/gone.png" {
		t.Errorf("told of %+v", got)
	}
	for old, want := range map[string]bool{"/logo.png": true, "/LICENSE": false, "/": false, "//host": false, "/files/LICENSE": true, "//host/": true, "//host/LICENSE": true} {
		if got := CanBeFound(old); got != want {
			t.Errorf("CanBeFound(%q) = %v", old, got)
		}
	}
}

// TestManyFolders verifies that URLs are found even if there are too many folders to search for
// each.
func TestManyFolders(t *testing.T) {
	var rows []Row
	var in, want strings.Builder
	for n := range 2 * maxPlaces {
		old, id := fmt.Sprintf("/folder%d/a.png", n), fmt.Sprint(n)
		rows = append(rows, Row{old, asset(id)})
		fmt.Fprintf(&in, "<img src=%q>", old)
		fmt.Fprintf(&want, "<img src=%q>", asset(id))
	}
	r, m := newRewriter(t, rows)
	if got := rewritten(t, r, strings.NewReader(in.String())).String(); got != want.String() || fmt.Sprint(m.Old()) != "[/]" {
		t.Errorf("got %.200s (%v)", got, m.Old())
	}
	for n := range 2 * maxPlaces {
		rows[n].Old = fmt.Sprintf("https://host%d.example.com/a.png", n)
	}
	if _, err := NewMap(each(rows)); err == nil || !strings.Contains(err.Error(), "512 hosts") {
		t.Errorf("got %v", err)
	}
}
