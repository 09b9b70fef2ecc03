package wordpress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// api answers like a site whose API is at a place: a folder, or the query rest_route.
type api struct {
	folder   string // of the site
	prefix   string // of the API; "" means the query
	announce bool
	notice   string // in front of JSON
	home     string // the path of the front page, if it is not the folder
	refuse   int    // requests to a route that get the status 429
	requests []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.Path, a.folder)
	route := r.URL.Query().Get("rest_route")
	if a.prefix != "" {
		var is bool
		if route, is = strings.CutPrefix(below, "/"+a.prefix); !is {
			route = ""
		}
	}
	a.requests = append(a.requests, r.Method+" "+route)
	switch {
	case ok && r.Method == http.MethodHead:
		if a.announce {
			root := "http://" + r.Host + a.folder + "/" + a.prefix + "/"
			if a.prefix == "" {
				root = "http://" + r.Host + a.folder + "/?rest_route=/"
			}
			w.Header().Add("Link", "<https://example.com/x>; rel=shortlink, <"+root+`>; rel="https://api.w.org/"`)
		}
	case ok && route == "/":
		fmt.Fprintf(w, `%s{"name": "Site &amp; more", "home": "http://%s%s", "namespaces": ["wp/v2"], "authentication": {"application-passwords": {}}}`, a.notice, r.Host, a.folder+a.home)
	case ok && route == "/wp/v2/posts/7" && a.refuse > 0:
		a.refuse--
		w.WriteHeader(http.StatusTooManyRequests)
	case ok && route == "/wp/v2/posts/7":
		fmt.Fprintf(w, `%s{"id": 7, "title": "a [b] {c}"}`, a.notice)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<html><body>Page not found</body></html>")
	}
}

func (a *api) client(t *testing.T, o Options) *Client {
	t.Helper()
	c := start(t, a, o)
	c.url.site.Path = a.folder + "/"
	return c
}

type post struct {
	ID    int
	Title string
}

func TestPlacesOfTheAPI(t *testing.T) {
	for name, a := range map[string]*api{
		"usual":                           {prefix: "wp-json", announce: true},
		"in a folder":                     {folder: "/a/blog", prefix: "wp-json", announce: true},
		"not announced":                   {prefix: "wp-json"},
		"without permalinks":              {announce: true},
		"without permalinks, in a folder": {folder: "/blog"},
		"another prefix":                  {prefix: "api", announce: true},
		"with warnings":                   {prefix: "wp-json", announce: true, notice: "\xef\xbb\xbf\n<b>Notice</b>: x[1] in {y} on line 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := a.client(t, Options{})
			var p post
			if err := c.Get(t.Context(), "/wp/v2/posts/7", url.Values{"context": {"edit"}}, &p); err != nil || p != (post{7, "a [b] {c}"}) {
				t.Errorf("read %v, %v", p, err)
			}
			if s, err := c.Site(t.Context()); err != nil || s.Name != "Site & more" || !s.Passwords {
				t.Errorf("the site is %+v, %v", s, err)
			}
		})
	}
}

func TestNoAPI(t *testing.T) {
	for name, c := range map[string]struct {
		api       *api
		why, hint string
	}{
		"hidden":       {&api{prefix: "hidden"}, "no REST API of WordPress was found", "use the URL of the front page"},
		"another path": {&api{prefix: "wp-json", home: "/blog"}, `the front page of the site is at another path: "/blog/"`, "/blog"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.api.client(t, Options{}).Get(t.Context(), "/wp/v2/posts/7", nil, new(post))
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(e.Error(), c.why) || !strings.Contains(e.Hint(), c.hint) || e.IsAuth() {
				t.Errorf("%v\nTry: %s", err, e.Hint())
			}
		})
	}
}

func TestPost(t *testing.T) {
	a := &api{prefix: "wp-json", announce: true, refuse: 2}
	if err := a.client(t, Options{}).Post(t.Context(), "/wp/v2/posts/7", post{}, nil); !errors.Is(err, ErrReadOnly) || len(a.requests) > 0 {
		t.Errorf("a client that only reads: %v, %v", err, a.requests)
	}
	var p post
	if err := a.client(t, Options{Write: true}).Post(t.Context(), "/wp/v2/posts/7", post{}, &p); err != nil || p.ID != 7 {
		t.Errorf("wrote %v, %v", p, err)
	}
	if want := "POST /wp/v2/posts/7"; strings.Count(strings.Join(a.requests, "\n"), want) != 3 {
		t.Errorf("the requests are %v, want %s three times", a.requests, want)
	}
}

// TestPostIsNotRepeated verifies that a write whose result is unknown is left to the caller.
func TestPostIsNotRepeated(t *testing.T) {
	a := &api{prefix: "wp-json", announce: true}
	sent := 0
	c := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			a.ServeHTTP(w, r)
			return
		}
		sent++
		w.WriteHeader(http.StatusBadGateway)
	}), Options{Write: true})
	if err := c.Post(t.Context(), "/wp/v2/posts/7", post{}, nil); err == nil || sent != 1 {
		t.Errorf("sent %d times: %v", sent, err)
	}
}

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"wordpress+https://Example.com":          "wordpress+https://example.com",
		"wordpress+https://example.com/a/blog//": "wordpress+https://example.com/a/blog",
		"wordpress+http://127.0.0.1:80/":         "wordpress+http://127.0.0.1:80",
	} {
		if u, err := ParseURL(text); err != nil || u.String() != want {
			t.Errorf("%s: %s, %v", text, u, err)
		}
	}
	for _, text := range []string{
		"https://example.com", "wordpress+ftp://example.com", "wordpress+https://", "wordpress+https://jo:hush@example.com", "wordpress+https://example.com?hush",
		"wordpress+https://example.com#hush", "wordpress+https://example.com/../hush", "wordpress+https://example.com/wp-json/", "wordpress+https://example.com/%zz",
	} {
		if _, err := ParseURL(text); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOnlyTheSiteGetsThePassword(t *testing.T) {
	c := start(t, &api{prefix: "wp-json"}, Options{User: "jo", Password: "abcd efgh"})
	if text := c.Redact("the password is abcd efgh or abcdefgh, and am86YWJjZCBlZmdo"); strings.Contains(text, "efgh") || strings.Contains(text, "am86") {
		t.Errorf("redacted: %s", text)
	}
	for rawURL, own := range map[string]bool{c.url.Page() + "x.jpg": true, "http://cdn.example.com/x.jpg": false, strings.Replace(c.url.Page(), "http", "https", 1): false} {
		u, err := url.Parse(rawURL)
		if err != nil || c.IsOwn(u) != own {
			t.Errorf("%s: own is %v, %v", rawURL, c.IsOwn(u), err)
		}
	}
}
