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

// Schemes are the schemes of the URL of a source.
var Schemes = [...]string{"ckfinder+https", "ckfinder+http"}

// A URL is the URL of a connector, or of a folder of a resource type.
type URL struct {
	connector *url.URL // with the parameters that are not ours
	kind      string   // the resource type; "" for all
	folder    string   // from / to /; only with a resource type
}

// taken are parameters that requests set, or that contain secrets.
var taken = []string{"command", "fileName", "hash", "ckCsrfToken", "cache", "thumbnail"}

// ParseURL parses ckfinder+https://host/path/connector, with type and currentFolder for a part
// of it, as in the URLs of the connector. Other parameters are sent with every request, because
// some applications need them to find the connector. Errors do not repeat the URL, which may
// contain a secret by mistake.
func ParseURL(text string) (URL, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains(Schemes[:], scheme) {
		return URL{}, errors.New("the URL must begin with ckfinder+https://")
	}
	u, err := url.Parse(strings.TrimPrefix(scheme, "ckfinder+") + "://" + rest)
	switch {
	case err != nil:
		return URL{}, errors.New("the URL is not valid")
	case u.User != nil:
		return URL{}, errors.New("a user name or password in the URL is not supported; set ASSETFERRY_SOURCE_HEADERS")
	case u.Hostname() == "":
		return URL{}, errors.New("the host is missing")
	case u.Fragment != "":
		return URL{}, errors.New("the URL has a fragment (#)")
	}
	u.Fragment, u.RawFragment = "", ""
	return withParameters(u)
}

func withParameters(u *url.URL) (URL, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return URL{}, errors.New("the URL has invalid parameters")
	}
	a := URL{kind: query.Get("type"), folder: query.Get("currentFolder")}
	for _, name := range taken {
		if query.Has(name) {
			return URL{}, fmt.Errorf("the URL has the parameter %s, which is not part of the URL of a connector", name)
		}
	}
	switch {
	case a.kind == "" && a.folder != "":
		return URL{}, errors.New("the URL has the parameter currentFolder, but no type")
	case !utf8.ValidString(a.kind + a.folder):
		return URL{}, errors.New("the resource type or the folder is not valid UTF-8")
	case strings.Contains(a.kind, "/"):
		return URL{}, errors.New("the name of the resource type has a slash")
	}
	if a.kind != "" {
		if a.folder = "/" + strings.Trim(a.folder, "/") + "/"; a.folder == "//" {
			a.folder = "/"
		}
		for segment := range strings.SplitSeq(strings.Trim(a.folder, "/"), "/") {
			if segment == "." || segment == ".." || segment == "" && a.folder != "/" {
				return URL{}, errors.New("the folder has an empty, \".\" or \"..\" segment")
			}
		}
	}
	query.Del("type")
	query.Del("currentFolder")
	u.RawQuery = query.Encode()
	a.connector = u
	return a, nil
}

// String returns the name of the source, also for state databases.
func (a URL) String() string {
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

// IsPlain reports whether the connector is at another host than this one and uses plain HTTP.
func (a URL) IsPlain() bool {
	return remote.CheckPlain(a.connector, false) != nil
}

// rootOf returns the folder of a key that begins with the name of a resource type.
func rootOf(dir string) place {
	kind, path, _ := strings.Cut(dir, "/")
	if path != "" {
		path += "/"
	}
	return place{kind: kind, path: "/" + path}
}
