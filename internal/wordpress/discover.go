package wordpress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// A Site is what the API says about its site.
type Site struct {
	Name       string
	Home       string // the URL of the front page
	Namespaces []string
	// Passwords means that the site accepts application passwords.
	Passwords bool
}

// Site returns what the API says about its site.
func (c *Client) Site(ctx context.Context) (Site, error) {
	if _, err := c.find(ctx); err != nil {
		return Site{}, err
	}
	return c.site, nil // it does not change any more
}

// find returns the root of the API, which it looks for once.
func (c *Client) find(ctx context.Context) (*url.URL, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil {
		return c.root, nil
	}
	announced, err := c.announced(ctx)
	if err != nil {
		return nil, err
	}
	page := c.url.site
	places := []*url.URL{page.JoinPath("wp-json", "/"), {Scheme: page.Scheme, Host: page.Host, Path: page.Path, RawQuery: "rest_route=/"}}
	if announced != nil {
		places = []*url.URL{announced}
	}
	var last error
	for _, root := range places {
		if c.site, last = c.index(ctx, root); last == nil {
			c.root = root
			return root, nil
		}
		if announced != nil || !isElsewhere(last) {
			return nil, last
		}
	}
	return nil, &Error{&remote.Failure{Host: page.String(), Err: fmt.Errorf("no REST API of WordPress was found; the last attempt: %w", last), Kind: retry.Fatal}, hintNoAPI}
}

// isElsewhere reports whether an error leaves open that the API is at another place.
func isElsewhere(err error) bool {
	f, ok := errors.AsType[*remote.Failure](err)
	return ok && !f.Auth && f.Kind == retry.Permanent && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed || f.Status < 300 && f.Status > 0)
}

// announced returns the root of the API that the front page announces, or nil.
func (c *Client) announced(ctx context.Context) (root *url.URL, err error) {
	err = remote.Patiently(ctx, retry.Policy{Attempts: 5}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, remote.ErrStalled)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodHead, c.url.Page(), nil)
		if err != nil {
			return err
		}
		r.Header.Set("User-Agent", "assetferry")
		at := &answer{url: c.url.site}
		a, err := c.http.Do(r)
		if err != nil {
			return c.unreached(ctx, at, err)
		}
		outbound.Drain(a.Body)
		at.status, at.header = a.StatusCode, a.Header
		if root, err = c.apiIn(at); err != nil || root != nil {
			return err
		}
		return c.decisive(at)
	})
	return root, err
}

// decisive returns an error if the response of the front page shows that no API can be reached.
func (c *Client) decisive(a *answer) error {
	switch {
	case a.status >= 300 && a.status < 400:
		if to, err := a.url.Parse(a.header.Get("Location")); err == nil && c.IsOwn(to) {
			return nil // to a language, for example
		}
	case a.status == http.StatusUnauthorized, a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable:
	default:
		return nil
	}
	return c.refused(a)
}

const apiRelation = "https://api.w.org/"

// apiIn returns the root of the API in the Link header of a response.
func (c *Client) apiIn(a *answer) (*url.URL, error) {
	for _, line := range a.header.Values("Link") {
		for link := range strings.SplitSeq(line, ",") {
			target, parameters, _ := strings.Cut(strings.TrimSpace(link), ">")
			if !strings.HasPrefix(target, "<") || !strings.Contains(parameters, apiRelation) {
				continue
			}
			u, err := a.url.Parse(target[1:])
			if err != nil {
				continue
			}
			if strings.EqualFold(u.Host, a.url.Host) {
				u.Scheme = a.url.Scheme // a site behind a proxy with TLS may not know about it
				return u, nil
			}
			site := URL{&url.URL{Scheme: u.Scheme, Host: u.Host, Path: c.url.site.Path}}
			return nil, c.fail(a, &remote.Failure{Err: fmt.Errorf("the REST API of the site is at %s", u.Host), Kind: retry.Fatal},
				"use the URL of the site at that host:\n  "+site.String())
		}
	}
	return nil, nil
}

// index reads the root of an API.
func (c *Client) index(ctx context.Context, root *url.URL) (Site, error) {
	query := url.Values{"_fields": {"name,home,namespaces,authentication"}}
	a, err := c.ask(ctx, http.MethodGet, routeURL(root, "/", query), nil)
	if err != nil {
		return Site{}, err
	}
	var got struct {
		Name           any             `json:"name"`
		Home           string          `json:"home"`
		Namespaces     []string        `json:"namespaces"`
		Authentication json.RawMessage `json:"authentication"`
	}
	if json.Unmarshal(a.json, &got) != nil || !slices.Contains(got.Namespaces, "wp/v2") {
		return Site{}, c.fail(a, &remote.Failure{Err: errors.New("the response is not from the REST API of WordPress"), Kind: retry.Permanent}, hintNoAPI)
	}
	if home, err := url.Parse(got.Home); err == nil && strings.Trim(home.Path, "/") != strings.Trim(c.url.site.Path, "/") {
		site := URL{&url.URL{Scheme: c.url.site.Scheme, Host: c.url.site.Host, Path: home.Path}}
		return Site{}, c.fail(a, &remote.Failure{Err: fmt.Errorf("the front page of the site is at another path: %q", home.Path+"/"), Kind: retry.Fatal}, "use the URL of the front page:\n  "+site.String())
	}
	name, _ := got.Name.(string)
	return Site{Name: html.UnescapeString(name), Home: got.Home, Namespaces: got.Namespaces, Passwords: bytes.Contains(got.Authentication, []byte(`"application-passwords"`))}, nil
}

// An Account is the account of the application password.
type Account struct {
	ID           int             `json:"id"`
	Name         string          `json:"name"`
	Roles        []string        `json:"roles"`
	Capabilities map[string]bool `json:"capabilities"`
}

// EditOthers is the right to edit the posts and media of others. In lists for editing, the API hides
// the media of others from an account without it.
const EditOthers = "edit_others_posts"

// CheckMedia returns an error for an account that sees only its own media. An account without any
// listed right may be that of a super administrator of a network.
func (c *Client) CheckMedia(a Account) error {
	if len(a.Capabilities) == 0 || a.Capabilities[EditOthers] {
		return nil
	}
	f := &remote.Failure{Host: c.url.Page(), Err: fmt.Errorf("the account %s sees only its own media: it lacks the capability %s", a.Name, EditOthers), Kind: retry.Fatal, Auth: true, Is: fs.ErrPermission}
	f.Redact(c.Redact)
	return &Error{f, hintRights}
}

// Account signs in, and returns the account. Sites answer to a wrong password as if there was none:
// many versions of WordPress, and servers that remove it from requests.
func (c *Client) Account(ctx context.Context) (Account, error) {
	var a Account
	err := c.Get(ctx, "/wp/v2/users/me", url.Values{"context": {"edit"}, "_fields": {"id,name,roles,capabilities"}}, &a)
	e, ok := errors.AsType[*Error](err)
	if !ok || !c.signed || e.Code() != "rest_not_logged_in" && e.Status() != http.StatusUnauthorized {
		return a, err
	}
	if strings.HasPrefix(e.Code(), "rest_") {
		return a, c.ignored(e)
	}
	return a, err
}

// ignored returns the error of a site that ignores the application password.
func (c *Client) ignored(e *Error) error {
	f := *e.failure
	f.Auth, f.Kind = true, retry.Fatal
	if !c.site.Passwords {
		f.Err = errors.New("the site does not accept application passwords")
		return &Error{&f, "application passwords need HTTPS, and a plugin may have disabled them: enable them, or read what is public without ASSETFERRY_WORDPRESS_USER and ASSETFERRY_WORDPRESS_PASSWORD"}
	}
	f.Err = errors.New("the site did not accept the user name and the application password")
	return &Error{&f, hintWrong + ". If both are correct, the web server removes the header Authorization. For Apache, add this line to .htaccess:\n  SetEnvIf Authorization \"(.*)\" HTTP_AUTHORIZATION=$1"}
}
