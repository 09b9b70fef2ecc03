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

// ListeningAt stores the listening address in the context of all requests of a server.
func ListeningAt(ctx context.Context, at net.Addr) context.Context {
	return context.WithValue(ctx, listeningKey{}, at)
}

// listeningAt returns the stored listening address, or else the local address of the
// connection.
func listeningAt(r *http.Request) string {
	for _, key := range []any{listeningKey{}, http.LocalAddrContextKey} {
		if at, ok := r.Context().Value(key).(net.Addr); ok {
			return at.String()
		}
	}
	return "an unknown IP address"
}

// refusal returns why a request may not see the pages, or "". Only local connections may: the
// sandbox must not be reachable from other machines, not even through a local proxy, and the
// browser must have requested a local host name. Otherwise any site could point its own name to
// this machine and read everything.
func refusal(r *http.Request) string {
	const forWhom = "Only a person at the machine that runs the sandbox can open the library page.\n"
	if at := listeningAt(r); !isLoopback(at) {
		return forWhom + "This sandbox listens on " + at + ", which other machines can reach.\n" +
			"To open the page, start the sandbox with --listen 127.0.0.1:0."
	}
	if !isLoopback(r.Host) {
		return forWhom + "The URL in your browser names another host. Use 127.0.0.1 or localhost."
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via"} {
		if r.Header.Get(header) != "" {
			return forWhom + "This request came through a proxy (it has the header " + header + ")."
		}
	}
	return ""
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

const noScripts = "The library page is for people: scripts and other pages cannot load it."

// byNavigation reports whether a user opened the page, rather than a script or another page.
// Programs other than browsers do not report this.
func byNavigation(r *http.Request) bool {
	return slices.Contains([]string{"", "navigate"}, r.Header.Get("Sec-Fetch-Mode")) &&
		slices.Contains([]string{"", "document"}, r.Header.Get("Sec-Fetch-Dest"))
}

// byPage reports whether a page of this library embeds or links the resource.
func byPage(r *http.Request) bool {
	return slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site")) &&
		slices.Contains([]string{"", "document", "image", "style", "audio", "video"}, r.Header.Get("Sec-Fetch-Dest"))
}

// asksForHTML reports whether the request names HTML. Programs usually send "*/*".
func asksForHTML(r *http.Request) bool {
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if t, parameters, err := mime.ParseMediaType(accepted); err == nil && t == "text/html" && parameters["q"] != "0" {
			return true
		}
	}
	return false
}
