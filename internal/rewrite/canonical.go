package rewrite

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Canonical gives an address in the form in which addresses are compared, which is the same
// whatever of it is encoded: without its scheme, its host in lower case, its path decoded
// and in one form of Unicode, and without a fragment. It is empty for what is neither an
// address of the web nor a path that begins with a slash.
func Canonical(address string) string { return canonical(address, norm.NFC.Bytes) }

// canonicalInForm is Canonical in the form of Unicode that the address has.
func canonicalInForm(address string) string {
	return canonical(address, func(path []byte) []byte { return path })
}

func canonical(address string, form func(path []byte) []byte) string {
	address, _, _ = strings.Cut(address, "#")
	address, query, hasQuery := strings.Cut(address, "?")
	host, path, ok := splitHost(address)
	if !ok {
		return ""
	}
	c := host + canonicalPath(path, form)
	if hasQuery {
		c += "?" + query
	}
	return c
}

// splitHost gives the host of an address with two slashes before it, and the path.
func splitHost(address string) (host, path string, ok bool) {
	rest, port := address, ""
	for _, scheme := range [...]struct{ name, port string }{{"https:", ":443"}, {"http:", ":80"}} {
		if n := len(scheme.name); len(address) > n && strings.EqualFold(address[:n], scheme.name) {
			rest, port = address[n:], scheme.port
			break
		}
	}
	after, absolute := strings.CutPrefix(rest, "//")
	if !absolute {
		return "", rest, rest == address && strings.HasPrefix(rest, "/")
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

// canonicalPath decodes all of a path but what would begin something else if it were
// decoded.
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

// clean encodes what would mean something to the text around an address: what may not
// stand in an address at all, quotes, brackets, commas and semicolons.
func clean(address string) string {
	n := 0
	for n < len(address) && isClean(address[n:]) {
		n++
	}
	if n == len(address) {
		return address
	}
	b := append(make([]byte, 0, len(address)+16), address[:n]...)
	for ; n < len(address); n++ {
		if c := address[n]; isClean(address[n:]) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// isClean reports whether the first byte of a text may stay as it is.
func isClean(s string) bool {
	c := s[0]
	return isUnreserved(c) || strings.IndexByte(":/?#@&=+$", c) >= 0 || c == '%' && len(s) > 2 && isHex(s[1]) && isHex(s[2])
}
