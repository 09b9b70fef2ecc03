package library

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Access decides who may see the pages. Every account on a machine can reach its ports, so a
// local connection is not enough. A URL with a key, which works once, gives a browser a cookie.
// Keys are kept in memory. The secret of the cookie may be stored, so that the cookie survives
// a restart.
//
// Browsers send cookies to all ports of a host. The name of the cookie contains the port, so
// that several sandboxes do not replace each other's cookies. A program on another port could
// still read the cookie, if the user opens its page.
type Access struct {
	secret string
	lasts  bool

	mu   sync.Mutex
	keys []string // unused, the oldest first
}

// maxKeys limits the unused keys. Older ones are void.
const maxKeys = 16

// cookieAge is the lifetime of a stored cookie in a browser.
const cookieAge = 30 * 24 * time.Hour

// NewAccess returns an Access whose cookie contains secret. With lasts, the cookie outlives the
// browser session.
func NewAccess(secret string, lasts bool) *Access { return &Access{secret: secret, lasts: lasts} }

// NewKey returns a key that works once.
func (a *Access) NewKey() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := rand.Text()
	a.keys = append(a.keys[max(0, len(a.keys)+1-maxKeys):], key)
	return key
}

// spend removes a key and reports whether it was valid.
func (a *Access) spend(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := slices.IndexFunc(a.keys, func(k string) bool { return equal(k, key) })
	if n < 0 {
		return false
	}
	a.keys = slices.Delete(a.keys, n, n+1)
	return true
}

// admits reports whether a request has the cookie.
func (a *Access) admits(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(cookieName(r)), func(c *http.Cookie) bool { return equal(c.Value, a.secret) })
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName returns the name of the cookie with the port of the request.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "assetferry-library-" + strings.Map(digits, port)
}

func digits(r rune) rune {
	if r < '0' || r > '9' {
		return -1
	}
	return r
}

// keyParameter is the query parameter with a key.
const keyParameter = "key"

// Path returns the path of the library page with a key.
func Path(key string) string { return "/?" + keyParameter + "=" + key }

// open exchanges the key of a URL for the cookie, and reports whether it has answered. It
// redirects by a page of this site, because only then do browsers send the cookie, wherever the
// link was clicked. Only navigation spends the key; a prefetch does not.
func (a *Access) open(w http.ResponseWriter, r *http.Request) (answered bool) {
	if r.URL.Path != "/" || !r.URL.Query().Has(keyParameter) {
		return false
	}
	ahead := strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch")
	switch {
	case r.Method != http.MethodGet || ahead || !byNavigation(r):
		http.Error(w, noScripts, http.StatusForbidden)
		return true
	case a.spend(r.URL.Query().Get(keyParameter)):
		c := &http.Cookie{Name: cookieName(r), Value: a.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
		if a.lasts {
			c.MaxAge = int(cookieAge / time.Second)
		}
		http.SetCookie(w, c)
	case !a.admits(r): // accept a repeated key in a reload or bookmark
		return false
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url=/"><title>Library</title><p><a href="/">Open the library</a></p></html>` + "\n"))
	return true
}

// noKey explains how to get access.
const noKey = "Only the person who started the sandbox can open the library page. Use the URL that\n" +
	"the sandbox printed. That URL contains a key that works once, in one browser.\n" +
	"This URL has no key, or the key was used before.\n\n" +
	"To get a new URL, run this in the shell that uses the sandbox:\n\n" +
	"    assetferry sandbox status\n\n" +
	"If the sandbox stores its data in a folder, run this in any shell:\n\n" +
	"    assetferry sandbox status --data DIR\n"
