package wordpresstest

import (
	"fmt"
	"net/http"
	"strings"
)

// A Behaviour is a way in which real sites differ.
type Behaviour string

// The behaviours.
const (
	Usual       Behaviour = ""
	NoAPI       Behaviour = "no-api"      // a plugin has disabled the REST API
	Protected   Behaviour = "protected"   // the web server asks for a password of its own
	Wall        Behaviour = "wall"        // a security plugin refuses the API
	LoginOnly   Behaviour = "login-only"  // a plugin refuses the API without a password
	Moved       Behaviour = "moved"       // everything redirects to www.example.com
	Pages       Behaviour = "pages"       // the API answers with web pages
	Deaf        Behaviour = "deaf"        // the web server removes the password from requests
	Maintenance Behaviour = "maintenance" // WordPress is being updated
	FilesDenied Behaviour = "files-denied"
)

// Behave changes the behaviour of the site.
func (s *Site) Behave(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behave = b
}

// misbehave answers a request in the way of a site that differs, and reports whether it did.
func (s *Site) misbehave(w http.ResponseWriter, r *http.Request) bool {
	below := strings.TrimPrefix(r.URL.Path, s.Folder)
	isAPI := strings.HasPrefix(below, "/wp-json") || r.URL.Query().Has("rest_route")
	isFile := strings.HasPrefix(below, Uploads)
	_, _, signed := r.BasicAuth()
	switch {
	case s.behave == Protected:
		w.Header().Set("WWW-Authenticate", `Basic realm="Staging"`)
		page(w, http.StatusUnauthorized, "401 Authorization Required")
	case s.behave == Moved:
		http.Redirect(w, r, "https://www.example.com"+r.URL.Path, http.StatusMovedPermanently)
	case s.behave == Maintenance:
		w.Header().Set("Retry-After", "600")
		page(w, http.StatusServiceUnavailable, "Briefly unavailable for scheduled maintenance.")
	case s.behave == NoAPI && isAPI:
		page(w, http.StatusNotFound, "Page not found")
	case s.behave == NoAPI && !isFile:
		page(w, http.StatusOK, "Welcome")
	case s.behave == Wall && isAPI:
		page(w, http.StatusForbidden, "Access denied by Example Firewall")
	case s.behave == Pages && isAPI:
		page(w, http.StatusOK, "Please wait while your browser is checked")
	case s.behave == LoginOnly && isAPI && !signed:
		s.refuse(w, http.StatusUnauthorized, "rest_cannot_access", "Only authenticated users can access the REST API.")
	case s.behave == FilesDenied && isFile:
		page(w, http.StatusForbidden, "403 Forbidden")
	default:
		if s.behave == Deaf {
			r.Header.Del("Authorization")
		}
		return false
	}
	return true
}

func page(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n", text, text)
}
