package library

import (
	"context"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type listeningKey struct{}

// ListeningAt notes in the context of all requests of a server where it listens.
func ListeningAt(ctx context.Context, at net.Addr) context.Context {
	return context.WithValue(ctx, listeningKey{}, at)
}

// listeningAt is where the server listens, or, if nobody noted it, the address
// that the request came to.
func listeningAt(r *http.Request) string {
	for _, key := range []any{listeningKey{}, http.LocalAddrContextKey} {
		if at, ok := r.Context().Value(key).(net.Addr); ok {
			return at.String()
		}
	}
	return "an unknown address"
}

// refusal says why a request may not see the pages; empty: it may. Only who is at
// this machine may: the sandbox must not be reachable from others, not even
// through a proxy beside it, and the browser must have meant this machine. Else any
// site could have its own name lead here and read everything.
func refusal(r *http.Request) string {
	const forWhom = "The library page is for the person at the machine that the sandbox runs on.\n"
	if at := listeningAt(r); !isLoopback(at) {
		return forWhom + "This sandbox listens on " + at + ", where other machines may reach it.\n" +
			"Start it with --listen 127.0.0.1:0 to see the page."
	}
	if !isLoopback(r.Host) {
		return forWhom + "The address in your browser names another one: use 127.0.0.1 or localhost."
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via"} {
		if r.Header.Get(header) != "" {
			return forWhom + "This request came through a proxy (it has the header " + header + ")."
		}
	}
	return ""
}

// isLoopback looks at a host with or without a port.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

const noScripts = "The library is for people: it is not shown to scripts or within other pages."

// byNavigation reports whether somebody went to a page, rather than a script or
// another page having it fetched. Programs that are no browsers do not tell.
func byNavigation(r *http.Request) bool {
	return slices.Contains([]string{"", "navigate"}, r.Header.Get("Sec-Fetch-Mode")) &&
		slices.Contains([]string{"", "document"}, r.Header.Get("Sec-Fetch-Dest"))
}

// byPage reports whether a page of this library shows or links something.
func byPage(r *http.Request) bool {
	return slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site")) &&
		slices.Contains([]string{"", "document", "image", "style", "audio", "video"}, r.Header.Get("Sec-Fetch-Dest"))
}

// asksForHTML looks for HTML by name: "*/*" is what programs send.
func asksForHTML(r *http.Request) bool {
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if t, parameters, err := mime.ParseMediaType(accepted); err == nil && t == "text/html" && parameters["q"] != "0" {
			return true
		}
	}
	return false
}
