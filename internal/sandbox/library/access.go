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

// An Access says who may see the pages: every account of a machine reaches a port on it, so
// being here is not enough. An address with a key, which works once, gives a browser a
// cookie. Keys are in memory; the cookie's secret may be kept, so that it survives a restart.
//
// A browser sends cookies to all ports of a host. The name of ours has the port in it, so
// that several sandboxes do not take each other's; a program at another port that somebody
// is brought to visit could read it, and with that the pages.
type Access struct {
	secret string
	lasts  bool

	mu   sync.Mutex
	keys []string // not used yet, the oldest first
}

// maxKeys is how many keys wait to be used; older ones are void.
const maxKeys = 16

// cookieAge is how long a browser keeps a cookie that lasts.
const cookieAge = 30 * 24 * time.Hour

// NewAccess returns an Access whose cookie holds a secret, and lasts longer than the browser.
func NewAccess(secret string, lasts bool) *Access { return &Access{secret: secret, lasts: lasts} }

// NewKey makes a key that works once.
func (a *Access) NewKey() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := rand.Text()
	a.keys = append(a.keys[max(0, len(a.keys)+1-maxKeys):], key)
	return key
}

// spend uses a key up, and reports whether it was one.
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

// cookieName has the port that the browser knows.
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

// keyParameter is the part of an address that holds a key.
const keyParameter = "key"

// Path is that of the page with a key.
func Path(key string) string { return "/?" + keyParameter + "=" + key }

// open exchanges the key of an address for the cookie, and reports whether it has answered.
// It leads on by a page of this site: browsers send the cookie along only then, whatever
// program or page the address was clicked in. Only who goes there spends the key, not a
// browser that looks ahead.
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
	case !a.admits(r): // a reload, or a bookmark, is no mistake
		return false
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url=/"><title>Library</title><p><a href="/">Open the library</a></p></html>` + "\n"))
	return true
}

// noKey says how to get in.
const noKey = "The library page is for the person who started the sandbox. It opens with the address\n" +
	"that the sandbox printed: that has a key, which works once, for one browser.\n" +
	"This address has no key, or one that was used.\n\n" +
	"For a new address, run in the shell that uses the sandbox\n\n" +
	"    assetferry sandbox status\n\n" +
	"or anywhere, if the sandbox keeps its data in a folder\n\n" +
	"    assetferry sandbox status --data DIR\n"
