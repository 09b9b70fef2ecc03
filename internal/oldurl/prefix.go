package oldurl

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Prefix is what every old address begins with; the zero Prefix is a slash.
type Prefix struct{ text string }

// ParsePrefix reads a prefix such as "https://old.example.com/files/" or "/files/"; an
// empty one is "/".
func ParsePrefix(s string) (Prefix, error) {
	if s == "" {
		s = "/"
	}
	u, err := url.Parse(s)
	if err != nil {
		return Prefix{}, errors.New("it is not an address")
	}
	origin := ""
	switch {
	case u.User != nil:
		return Prefix{}, errors.New("it must not hold a user name or password")
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		origin = u.Scheme + "://" + u.Host
	case u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/"):
		return Prefix{}, errors.New("it begins neither with https://, nor with http:// or /")
	}
	if origin != Clean(origin) {
		return Prefix{}, fmt.Errorf("the host %q is not in the form in which it goes over the wire, such as xn--exmple-cua.com", u.Host)
	}
	switch {
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Prefix{}, errors.New("it has a query or a fragment, and must be a path")
	case !strings.HasSuffix(u.Path, "/"):
		return Prefix{}, errors.New("it does not end with a slash")
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(u.Path, "/"), "/"), "/") {
		if u.Path != "/" && part == "" || part == "." || part == ".." {
			return Prefix{}, errors.New(`it has an empty, "." or ".." part, which web servers resolve`)
		}
	}
	return Prefix{origin + escapePath(u.Path)}, nil
}

// Template builds the old addresses of objects: the prefix and a key, encoded as browsers encode
// paths.
func (p Prefix) Template() *Template {
	t := &Template{}
	path := cmp.Or(p.text, "/")
	if scheme, rest, absolute := strings.Cut(p.text, "://"); absolute {
		i := strings.IndexByte(rest, '/')
		t.scheme, t.host, path = scheme, strings.ToLower(rest[:i]), rest[i:]
	}
	t.path = []part{{literal, decode(path)}, {is: ofPath}}
	return t
}

// escapePath encodes a path as RFC 3986 wants it, and no more than that.
func escapePath(path string) string { return EscapePath(path, upperDigits) }

// EscapePath is the path as RFC 3986 wants it, with hexadecimal digits of one's choice.
func EscapePath(path, digits string) string {
	return encodeWith(path, digits, func(i int) bool { return staysInPath(path[i]) })
}

func staysInPath(c byte) bool {
	return isUnreserved(c) || isSubDelim(c) || c == ':' || c == '@' || c == '/'
}
