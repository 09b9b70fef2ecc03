package wordpress

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"assetferry/sources/remote"
)

// Schemes are the schemes of the URL of a site.
var Schemes = [...]string{"wordpress+https", "wordpress+http"}

// A URL is the URL of a site.
type URL struct{ site *url.URL }

// ParseURL parses wordpress+https://host/path: the URL of the front page of a site. Errors do not
// repeat the URL, which may contain a secret by mistake.
func ParseURL(text string) (URL, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains(Schemes[:], scheme) {
		return URL{}, errors.New("the URL must begin with wordpress+https://")
	}
	u, err := url.Parse(strings.TrimPrefix(scheme, "wordpress+") + "://" + rest)
	switch {
	case err != nil:
		return URL{}, errors.New("the URL is not valid")
	case u.User != nil:
		return URL{}, errors.New("a user name or password in the URL is not supported; set ASSETFERRY_WORDPRESS_USER and ASSETFERRY_WORDPRESS_PASSWORD")
	case u.Hostname() == "":
		return URL{}, errors.New("the host is missing")
	case u.RawQuery != "" || u.ForceQuery:
		return URL{}, errors.New("the URL has a query (?)")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return URL{}, errors.New("the URL has a fragment (#)")
	}
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = "/"+strings.Trim(u.Path, "/"), ""
	for segment := range strings.SplitSeq(u.Path, "/") {
		switch segment {
		case ".", "..":
			return URL{}, errors.New(`the path has the segment "." or ".."`)
		case "wp-json", "wp-admin", "wp-login.php":
			return URL{}, errors.New("the URL must be that of the front page, without " + segment)
		}
	}
	if u.Path != "/" {
		u.Path += "/"
	}
	return URL{u}, nil
}

// String returns the name of the site, also for state databases.
func (u URL) String() string {
	return "wordpress+" + strings.TrimSuffix(u.Page(), "/")
}

// Page returns the URL of the front page.
func (u URL) Page() string { return u.site.String() }

// IsPlain reports whether the site is at another host than this one and uses plain HTTP.
func (u URL) IsPlain() bool { return remote.CheckPlain(u.site, false) != nil }

// Site returns the URL of the front page, parsed.
func (u URL) Site() *url.URL {
	site := *u.site
	return &site
}
