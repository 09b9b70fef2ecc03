package standin

import (
	"net/http"
	"strings"
)

// LetBrowsersIn permits pages of any origin to read every answer, including errors and faults, and
// to send the cookie of private categories. It reports whether the request was a preflight, which
// it has answered; preflights are not counted.
func LetBrowsersIn(w http.ResponseWriter, r *http.Request) (answered bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin) // "*" is invalid with credentials
	h.Set("Access-Control-Allow-Credentials", "true")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", strings.Join(exposed(), ", "))
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", strings.Join(accepted(), ", "))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// accepted returns the headers that scripts may send.
func accepted() []string {
	return []string{
		"Authorization", "Content-Type", "CKBox-Version", "CKBox-Timestamp", "CKBox-Signature",
		"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
	}
}

// exposed returns the headers that scripts may read.
func exposed() []string {
	return []string{
		"Accept-Ranges", "Content-Disposition", "Content-Length", "Content-Range", "Date", "ETag", "Retry-After", MarkHeader,
	}
}
