package sandbox_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
)

const origin = "https://editor.example:8443"

// fromPage sends a request like a browser for a page of another origin.
func (c *client) fromPage(method, path string, headers ...string) reply {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Origin", origin)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.Fatal(err)
	}
	_ = resp.Body.Close()
	return reply{Response: resp}
}

// checkReadable verifies that scripts of a page may read a response and its necessary headers.
func checkReadable(t testing.TB, r reply) {
	t.Helper()
	h := r.Header
	if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "true" ||
		!slices.Contains(h.Values("Vary"), "Origin") {
		t.Errorf("%s %s: %d %v", r.Request.Method, r.Request.URL.Path, r.StatusCode, h)
	}
	if h.Get("X-Sandbox") == "" {
		t.Errorf("%s %s: %d does not say that it comes from a sandbox", r.Request.Method, r.Request.URL.Path, r.StatusCode)
	}
	if r.Request.Method == http.MethodOptions {
		return
	}
	seen := words(h.Get("Access-Control-Expose-Headers"))
	for _, name := range []string{"ETag", "Content-Length", "Content-Range", "Content-Disposition", "Date", "Retry-After", "X-Sandbox"} {
		if !slices.Contains(seen, strings.ToLower(name)) {
			t.Errorf("%s %s: %s cannot be read", r.Request.Method, r.Request.URL.Path, name)
		}
	}
}

func words(list string) []string { return strings.Split(strings.ToLower(list), ", ") }

// TestPagesOfOtherOrigins sends a preflight request and the actual request to every route.
func TestPagesOfOtherOrigins(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, op := range operations(t) {
		method, pattern, _ := strings.Cut(op, " ")
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(pattern, "x")
		t.Run(op, func(t *testing.T) {
			c := *c
			c.TB = t
			asked := c.fromPage("OPTIONS", path, "Access-Control-Request-Method", method,
				"Access-Control-Request-Headers", "authorization,ckbox-version,content-type")
			checkReadable(t, asked)
			if asked.StatusCode != http.StatusNoContent || !slices.Contains(words(asked.Header.Get("Access-Control-Allow-Methods")), strings.ToLower(method)) {
				t.Errorf("asked beforehand: %d %v", asked.StatusCode, asked.Header)
			}
			may := words(asked.Header.Get("Access-Control-Allow-Headers"))
			for _, name := range []string{"authorization", "content-type", "ckbox-version", "ckbox-timestamp", "ckbox-signature", "range"} {
				if !slices.Contains(may, name) {
					t.Errorf("%s may not be sent", name)
				}
			}
			checkReadable(t, c.fromPage(method, path))
		})
	}
	checkReadable(t, c.fromPage("GET", "/nowhere"))
}

func TestPagesReadFaults(t *testing.T) {
	f, err := fault.Parse("* * status=429 retry-after=7")
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, sandbox.Options{Faults: []fault.Rule{f}})
	checkReadable(t, c.fromPage("OPTIONS", "/assets", "Access-Control-Request-Method", "POST"))
	r := c.fromPage("GET", "/categories")
	checkReadable(t, r)
	if r.StatusCode != 429 || r.Header.Get("Retry-After") != "7" {
		t.Errorf("got %d %v", r.StatusCode, r.Header)
	}
}

// TestPagesReadFiles verifies the headers of responses with files: ranges, and names of
// attachments.
func TestPagesReadFiles(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.upload("a.txt", "0123456789")
	path := "/" + c.env.ID + "/assets/" + a["id"].(string) + "/file?download=true"
	r := c.fromPage("GET", path, "Range", "bytes=2-4")
	checkReadable(t, r)
	if r.StatusCode != http.StatusPartialContent || r.Header.Get("Content-Range") != "bytes 2-4/10" || r.Header.Get("Content-Disposition") == "" {
		t.Errorf("got %d %v", r.StatusCode, r.Header)
	}
	checkReadable(t, c.fromPage("GET", path, "If-None-Match", r.Header.Get("ETag")))
	checkReadable(t, c.fromPage("HEAD", path))
}

// TestOthersAreNotAnsweredAsPages verifies that caches separate responses by origin.
func TestOthersAreNotAnsweredAsPages(t *testing.T) {
	c := start(t, sandbox.Options{})
	r := c.do(200, "GET", "/limits", nil)
	if r.Header.Get("Access-Control-Allow-Origin") != "" || r.Header.Get("Vary") != "Origin" {
		t.Errorf("got %v", r.Header)
	}
	c.do(501, "OPTIONS", "/limits", nil)
}
