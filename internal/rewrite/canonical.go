package rewrite

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Canonical returns a URL in the form for comparison, which is the same for all its encodings: without
// scheme and fragment, the host in lower case, the path decoded and in one form of Unicode. It is ""
// for a text that is neither a web URL nor a path that begins with a slash.
func Canonical(url string) string { return canonical(url, norm.NFC.Bytes) }

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
	for n < len(url) && isClean(url[n:]) {
		n++
	}
	if n == len(url) {
		return url
	}
	b := append(make([]byte, 0, len(url)+16), url[:n]...)
	for ; n < len(url); n++ {
		if c := url[n]; isClean(url[n:]) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// isClean reports whether the first byte of a text needs no encoding.
func isClean(s string) bool {
	c := s[0]
	return isUnreserved(c) || strings.IndexByte(":/?#@&=+$", c) >= 0 || c == '%' && len(s) > 2 && isHex(s[1]) && isHex(s[2])
}
