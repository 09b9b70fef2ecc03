package ckfinder

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/sources/remote"
)

// Schemes are what the URL of a source begins with.
var Schemes = [...]string{"ckfinder+https", "ckfinder+http"}

// An Address names a connector, or a folder of a resource type of it.
type Address struct {
	connector *url.URL // with the parameters that are not ours
	kind      string   // the resource type; empty for all of them
	folder    string   // from / to /; only with a resource type
}

// taken are parameters that requests have by themselves, or that open something.
var taken = []string{"command", "fileName", "hash", "ckCsrfToken", "cache", "thumbnail"}

// ParseAddress reads ckfinder+https://host/path/connector, with type and currentFolder as in
// the connector's own URLs if it is about a part of it. Other parameters go along with
// every request: some applications find their connector by them. The error does not repeat
// the URL, which may hold what somebody took for its place.
func ParseAddress(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains(Schemes[:], scheme) {
		return Address{}, errors.New("the address does not begin with ckfinder+https://")
	}
	u, err := url.Parse(strings.TrimPrefix(scheme, "ckfinder+") + "://" + rest)
	switch {
	case err != nil:
		return Address{}, errors.New("the address is not valid")
	case u.User != nil:
		return Address{}, errors.New("the address holds a user name or a password; what opens the connector comes from ASSETFERRY_SOURCE_HEADERS")
	case u.Hostname() == "":
		return Address{}, errors.New("the address names no host")
	case u.Fragment != "":
		return Address{}, errors.New("the address has a #, and nothing may follow it")
	}
	u.Fragment, u.RawFragment = "", ""
	return withParameters(u)
}

func withParameters(u *url.URL) (Address, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("the address has parameters that cannot be read")
	}
	a := Address{kind: query.Get("type"), folder: query.Get("currentFolder")}
	for _, name := range taken {
		if query.Has(name) {
			return Address{}, fmt.Errorf("the address has the parameter %s, which is not part of a connector's address", name)
		}
	}
	switch {
	case a.kind == "" && a.folder != "":
		return Address{}, errors.New("the address has the parameter currentFolder, but no type")
	case !utf8.ValidString(a.kind + a.folder):
		return Address{}, errors.New("the resource type or the folder is not valid UTF-8")
	case strings.Contains(a.kind, "/"):
		return Address{}, errors.New("the name of the resource type has a slash")
	}
	if a.kind != "" {
		if a.folder = "/" + strings.Trim(a.folder, "/") + "/"; a.folder == "//" {
			a.folder = "/"
		}
		for segment := range strings.SplitSeq(strings.Trim(a.folder, "/"), "/") {
			if segment == "." || segment == ".." || segment == "" && a.folder != "/" {
				return Address{}, errors.New("the folder has an empty, \".\" or \"..\" segment")
			}
		}
	}
	query.Del("type")
	query.Del("currentFolder")
	u.RawQuery = query.Encode()
	a.connector = u
	return a, nil
}

// String names the source: in state databases, too.
func (a Address) String() string {
	u := *a.connector
	u.Scheme = "ckfinder+" + u.Scheme
	u.Host = strings.ToLower(u.Host)
	var parts []string
	if u.RawQuery != "" {
		parts = append(parts, u.RawQuery)
	}
	if a.kind != "" {
		parts = append(parts, "type="+url.QueryEscape(a.kind), "currentFolder="+url.QueryEscape(a.folder))
	}
	u.RawQuery = strings.Join(parts, "&")
	return u.String()
}

// IsPlain reports whether the connector is at another host than this one, and asked over
// plain HTTP.
func (a Address) IsPlain() bool {
	return remote.CheckPlain(a.connector, false) != nil
}

// rootOf reads the folder of a key that begins with the name of a resource type.
func rootOf(dir string) place {
	kind, path, _ := strings.Cut(dir, "/")
	if path != "" {
		path += "/"
	}
	return place{kind: kind, path: "/" + path}
}
