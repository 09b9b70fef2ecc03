package oldurl

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Prefix is the beginning of all old URLs; the zero Prefix is a slash.
type Prefix struct{ text string }

// ParsePrefix parses a prefix such as "https://old.example.com/files/" or "/files/"; an empty one
// is "/".
func ParsePrefix(s string) (Prefix, error) {
	if s == "" {
		s = "/"
	}
	u, err := url.Parse(s)
	if err != nil {
		return Prefix{}, errors.New("it is not a URL")
	}
	origin := ""
	switch {
	case u.User != nil:
		return Prefix{}, errors.New("a user name or password is not allowed")
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		origin = u.Scheme + "://" + u.Host
	case u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/"):
		return Prefix{}, errors.New("it must begin with https://, http:// or /")
	}
	if origin != Clean(origin) {
		return Prefix{}, fmt.Errorf("the host %q must be in ASCII form, such as xn--exmple-cua.com", u.Host)
	}
	switch {
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Prefix{}, errors.New("a query or a fragment is not allowed")
	case !strings.HasSuffix(u.Path, "/"):
		return Prefix{}, errors.New("it must end with a slash")
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(u.Path, "/"), "/"), "/") {
		if u.Path != "/" && part == "" || part == "." || part == ".." {
			return Prefix{}, errors.New(`an empty, "." or ".." segment is not allowed, because web servers resolve it`)
		}
	}
	return Prefix{origin + escapePath(u.Path)}, nil
}

// Template returns the template of old URLs: the prefix and a key, encoded like a path in browsers.
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

// escapePath encodes the characters of a path that RFC 3986 requires, and no others.
func escapePath(path string) string { return EscapePath(path, upperDigits) }

// EscapePath encodes a path by RFC 3986, with the given hexadecimal digits.
func EscapePath(path, digits string) string {
	return encodeWith(path, digits, func(i int) bool { return staysInPath(path[i]) })
}

func staysInPath(c byte) bool {
	return isUnreserved(c) || isSubDelim(c) || c == ':' || c == '@' || c == '/'
}
