package rewrite

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Canonical returns a URL in the form for comparison, which is the same for all its encodings: without
// scheme and fragment, the host in lower case, the path decoded and in one form of Unicode. It is ""
// for a text that is neither a web URL nor a path that begins with a slash.
func Canonical(url string) string {
	if c, ok := plainCanonical(url); ok {
		return c
	}
	return canonical(url, norm.NFC.Bytes)
}

// plainCanonical is Canonical for the most frequent URLs, whose canonical form is a part of them. It is
// not ok for all others.
func plainCanonical(url string) (c string, ok bool) {
	begin := 0
	for begin < len(url) && url[begin] != '/' {
		begin++
	}
	switch url[:begin] {
	case "", "https:", "http:":
	default:
		return "", false
	}
	url = url[begin:]
	path := 0
	if len(url) > 1 && url[1] == '/' {
		path = 2
		for path < len(url) && (isUnreserved(url[path]) && (url[path] < 'A' || 'Z' < url[path])) {
			path++
		}
	}
	if path == 2 || begin > 0 && path == 0 || path == len(url) || url[path] != '/' {
		return "", false
	}
	for i := path; i < len(url); i++ {
		switch c := url[i]; {
		case c == '#' || c == '?':
			url, _, _ = strings.Cut(url, "#")
			return url, true
		case c == '%' || c >= utf8.RuneSelf:
			return "", false
		}
	}
	return url, true
}

// canonicalInForm is Canonical without a change of the form of Unicode.
func canonicalInForm(url string) string {
	return canonical(url, func(path []byte) []byte { return path })
}

func canonical(url string, form func(path []byte) []byte) string {
	url, _, _ = strings.Cut(url, "#")
	url, query, hasQuery := strings.Cut(url, "?")
	host, path, ok := splitHost(url)
	if !ok {
		return ""
	}
	c := host + canonicalPath(path, form)
	if hasQuery {
		c += "?" + query
	}
	return c
}

// splitHost returns the host of a URL, with two slashes before it, and the path.
func splitHost(url string) (host, path string, ok bool) {
	rest, port := url, ""
	for _, scheme := range [...]struct{ name, port string }{{"https:", ":443"}, {"http:", ":80"}} {
		if n := len(scheme.name); len(url) > n && strings.EqualFold(url[:n], scheme.name) {
			rest, port = url[n:], scheme.port
			break
		}
	}
	after, absolute := strings.CutPrefix(rest, "//")
	if !absolute {
		return "", rest, rest == url && strings.HasPrefix(rest, "/")
	}
	slash := strings.IndexByte(after, '/')
	if slash <= 0 {
		return "", "", false
	}
	host = strings.ToLower(after[:slash])
	if port != "" {
		host = strings.TrimSuffix(host, port)
	}
	return "//" + host, after[slash:], true
}

// canonicalPath decodes a path, except for characters that would begin a query or a fragment.
func canonicalPath(path string, form func([]byte) []byte) string {
	plain := true
	for i := range len(path) {
		if path[i] == '%' || path[i] >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]) {
			c = unhex(path[i+1])<<4 | unhex(path[i+2])
			i += 2
		}
		switch c {
		case '%', '?', '#':
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(form(b))
}

// clean encodes characters that are special in the text around a URL: those that a URL must not
// contain, quotes, brackets, commas and semicolons.
func clean(url string) string {
	n := 0
	for n < len(url) && isClean(url, n) {
		n++
	}
	if n == len(url) {
		return url
	}
	b := append(make([]byte, 0, len(url)+16), url[:n]...)
	for ; n < len(url); n++ {
		if c := url[n]; isClean(url, n) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// isClean reports whether the byte at an offset needs no encoding.
func isClean(s string, n int) bool {
	return cleanBytes.has(s[n]) || s[n] == '%' && n+2 < len(s) && isHex(s[n+1]) && isHex(s[n+2])
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

var cleanBytes = newByteSet("-._~:/?#@&=+$" + alphanumeric)

// A byteSet has a bit for each byte.
type byteSet [4]uint64

func newByteSet(members string) (set byteSet) {
	for _, c := range []byte(members) {
		set[c/64] |= 1 << (c % 64)
	}
	return set
}

func (s *byteSet) has(c byte) bool { return s[c/64]>>(c%64)&1 != 0 }
