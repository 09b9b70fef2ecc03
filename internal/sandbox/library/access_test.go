package library_test

import (
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

// Browsers open the library with and without a key.
func TestAccess(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	asset := id(w.upload("a.png", picture(t, 8, 8)))
	let := w.secret
	w.secret = ""
	for _, path := range []string{"/", "/?key=", "/?key=A", base + "/", base + "/assets/" + asset, base + "/assets/" + asset + "/thumbnail", base + "/assets/" + asset + "/file", base + "/style.css"} {
		a := w.ask(path)
		if a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "assetferry sandbox status") || len(a.Cookies()) > 0 {
			t.Errorf("%s without a key: %d %s", path, a.StatusCode, a.body)
		}
	}

	key := strings.TrimPrefix(w.sandbox.LibraryURL(w.URL), w.URL)
	for _, ahead := range [][]string{browser("none", "navigate", "iframe"), browser("same-origin", "cors", "empty"), {"Sec-Purpose", "prefetch;prerender"}} {
		if a := w.ask(key, ahead...); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
			t.Errorf("%v: the key was exchanged: %d", ahead, a.StatusCode)
		}
	}
	a := w.ask(key, browser("cross-site", "navigate", "document")...)
	if a.StatusCode != http.StatusOK || len(a.Cookies()) != 1 || !strings.Contains(a.body, "url=/") {
		t.Fatalf("%d %v %s", a.StatusCode, a.Cookies(), a.body)
	}
	if c := a.Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Value != let || c.MaxAge != 0 ||
		c.Name != w.cookie(strings.TrimPrefix(w.URL, "http://")).Name {
		t.Errorf("the cookie is %v", c)
	}
	if a := w.ask(key); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
		t.Errorf("the key works twice: %d", a.StatusCode)
	}

	w.secret = let
	if a := w.ask("/"); a.StatusCode != http.StatusOK || !strings.Contains(a.body, "Categories") {
		t.Errorf("with the cookie: %d", a.StatusCode)
	}
	if a := w.ask(key); a.StatusCode != http.StatusOK || len(a.Cookies()) > 0 {
		t.Errorf("reloaded: %d", a.StatusCode)
	}
	w.secret = let[1:]
	if a := w.ask("/"); a.StatusCode != http.StatusForbidden {
		t.Errorf("with another cookie: %d", a.StatusCode)
	}
}

// Old keys become void when many are requested.
func TestKeysThatWait(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	var keys []string
	for range 17 {
		keys = append(keys, strings.TrimPrefix(w.sandbox.LibraryURL(w.URL), w.URL))
	}
	w.secret = ""
	for n, key := range keys {
		if a := w.ask(key); (a.StatusCode == http.StatusOK) != (n > 0) {
			t.Errorf("key %d of 17: %d", n+1, a.StatusCode)
		}
	}
}

// The cookie survives a restart of a sandbox with a data folder.
func TestCookieLasts(t *testing.T) {
	dir := t.TempDir()
	var secrets []string
	for range 2 {
		w := newWorld(t, sandbox.Options{Dir: dir})
		secrets = append(secrets, w.secret)
		if a := w.ask(strings.TrimPrefix(w.sandbox.LibraryURL(w.URL), w.URL)); a.Cookies()[0].MaxAge <= 0 {
			t.Errorf("the cookie is %v", a.Cookies()[0])
		}
		if err := w.sandbox.Close(); err != nil {
			t.Error(err)
		}
	}
	if secrets[0] != secrets[1] || secrets[0] == "" {
		t.Errorf("the cookie holds %q, and after a restart %q", secrets[0], secrets[1])
	}
}
