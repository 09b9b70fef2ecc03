package remote

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// newServer starts a server that records its requests and answers with the given handler.
func newServer(t *testing.T, answer http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newClient(t *testing.T, origin *url.URL, headers string) *Client {
	t.Helper()
	o := Options{Origin: origin}
	if headers != "" {
		var err error
		if o.Headers, err = ParseHeaders(headers); err != nil {
			t.Fatal(err)
		}
	}
	c := New(o)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(t *testing.T, c *Client, rawURL string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer
}

func TestHeadersGoToTheirOriginOnly(t *testing.T) {
	var seen []http.Header
	note := func(w http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Clone()) }
	ours, other := newServer(t, note), newServer(t, note)
	c := newClient(t, ours, "Authorization: Bearer quiet-quiet\nCookie: session=hush-hush")
	get(t, c, ours.String()+"/a")
	get(t, c, other.String()+"/a")
	if seen[0].Get("Authorization") != "Bearer quiet-quiet" || seen[0].Get("Cookie") != "session=hush-hush" {
		t.Errorf("the origin got %v", seen[0])
	}
	if seen[1].Get("Authorization") != "" || seen[1].Get("Cookie") != "" {
		t.Errorf("another origin got %v", seen[1])
	}
}

// TestCookiesAreKept verifies that a renewed session cookie replaces the configured one.
func TestCookiesAreKept(t *testing.T) {
	var seen []string
	ours := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "renewed-renewed", Path: "/"})
	})
	c := newClient(t, ours, "Cookie: session=hush-hush; lang=en")
	get(t, c, ours.String())
	get(t, c, ours.String())
	if seen[0] != "session=hush-hush; lang=en" || strings.Contains(seen[1], "hush") || !strings.Contains(seen[1], "session=renewed-renewed") {
		t.Errorf("sent %q", seen)
	}
	if got := c.Redact("you said hush-hush, I say renewed-renewed, both in en"); got != "you said [redacted], I say [redacted], both in en" {
		t.Errorf("redacted: %s", got)
	}
}

// TestOddCookies verifies that a malformed cookie is sent as it was configured.
func TestOddCookies(t *testing.T) {
	var seen string
	ours := newServer(t, func(w http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Cookie") })
	get(t, newClient(t, ours, "Cookie: only hush-hush"), ours.String())
	if seen != "only hush-hush" {
		t.Errorf("sent %q", seen)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	ours := newServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) })
	if answer := get(t, newClient(t, ours, ""), ours.String()); answer.StatusCode != http.StatusFound {
		t.Errorf("status %d", answer.StatusCode)
	}
}

func TestPlainHTTP(t *testing.T) {
	for host, refused := range map[string]bool{"http://source.example.com": true, "http://10.0.0.1": true, "http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost:1": false} {
		u, _ := url.Parse(host)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, host, nil)
		answer, err := newClient(t, u, "").Do(r)
		if err == nil {
			answer.Body.Close()
		}
		if errors.Is(err, ErrPlain) != refused {
			t.Errorf("%s: %v", host, err)
		}
	}
}
