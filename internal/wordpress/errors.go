package wordpress

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/outbound"
	"assetferry/internal/pattern"
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// An Error is a request that a site refused, or did not answer as WordPress does.
type Error struct {
	failure *remote.Failure
	hint    string
}

func (e *Error) Error() string { return e.failure.Error() }

// Unwrap returns the *remote.Failure, which has the class.
func (e *Error) Unwrap() error { return e.failure }

// Hint returns the next step for the user; it may be empty.
func (e *Error) Hint() string { return e.hint }

// Status returns the status of the response; 0 if there is none.
func (e *Error) Status() int { return e.failure.Status }

// Code returns the error code of WordPress, such as rest_no_route; it may be empty.
func (e *Error) Code() string { return e.failure.Code }

// IsAuth reports whether the error concerns the credentials, or their permissions.
func (e *Error) IsAuth() bool { return e.failure.Auth }

// IsAuth reports whether an error is an [Error] that concerns the credentials.
func IsAuth(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.IsAuth()
}

// IsTooLarge reports whether a response was larger than this package reads.
func IsTooLarge(err error) bool {
	_, ok := errors.AsType[*outbound.TooLargeError](err)
	return ok
}

const (
	hintCreate = "create an application password in WordPress (Users > Profile > Application Passwords), and set ASSETFERRY_WORDPRESS_USER to the user name and ASSETFERRY_WORDPRESS_PASSWORD to the password"
	hintWrong  = "check ASSETFERRY_WORDPRESS_USER and ASSETFERRY_WORDPRESS_PASSWORD: the password is an application password (Users > Profile > Application Passwords in WordPress) and not that of the login form; replace a revoked one"
	hintRights = "use an application password of an editor or an administrator"
	hintFirst  = "exempt the REST API and the uploads from the password protection of the web server, at least for this machine: both passwords cannot be sent at once"
	hintWall   = "allow the REST API (/wp-json/) for this machine in the security plugin, the firewall or the content delivery network"
	hintNoAPI  = "use the URL of the front page, such as wordpress+https://www.example.com/blog; if it is correct, a plugin may have disabled the REST API"
	hintOther  = "open the URL in a browser; if a plugin prints the text, deactivate it"
)

// fail returns an error that begins with the URL of the request, without its query.
func (c *Client) fail(at *answer, f *remote.Failure, hint string) *Error {
	shown := url.URL{Scheme: at.url.Scheme, Host: at.url.Host, Path: at.url.Path}
	if route := at.url.Query().Get("rest_route"); route != "" {
		shown.RawQuery = "rest_route=" + route
	}
	f.Host = shown.String()
	if at.status != 0 {
		f.Status = at.status
	}
	f.Redact(c.Redact)
	return &Error{f, hint}
}

func unreachedHint(f *remote.Failure) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](f)
	switch {
	case errors.Is(f, remote.ErrPlain):
		return "use wordpress+https://, or add --allow-http if you trust the network"
	case authority:
		return "if a private authority signed the certificate, add --ca-file FILE"
	}
	return "check the URL, the network and the proxy"
}

// A problem is an error of the REST API.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// problemIn returns the error in a response; its code is empty if there is none.
func problemIn(a *answer) (p problem) {
	if json.Unmarshal(a.json, &p) != nil {
		return problem{}
	}
	p.Message = remote.OneLine(html.UnescapeString(tags().ReplaceAllString(p.Message, "")))
	return p
}

var tags = pattern.Lazy(`<[^>]*>`)

// refused returns nil for a successful response with JSON.
func (c *Client) refused(a *answer) error {
	p := problemIn(a)
	switch {
	case a.status >= 300 && a.status < 400:
		return c.redirected(a)
	case a.status == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") != "" && p.Code == "":
		return c.fail(a, &remote.Failure{Err: errors.New("the web server itself asks for a password, in front of WordPress"), Kind: retry.Fatal, Auth: true}, hintFirst)
	case a.status < 300 && a.json == nil:
		return c.fail(a, &remote.Failure{Err: errors.New("the response is not JSON, but " + kindOf(a)), Kind: retry.Permanent}, hintOther)
	case a.status < 300:
		return nil
	}
	f := &remote.Failure{Code: p.Code, Err: fmt.Errorf("%d %s", a.status, http.StatusText(a.status)), Kind: retry.Permanent}
	if p.Code != "" {
		f.Err = fmt.Errorf("%s: %s", p.Code, p.Message)
	}
	return c.fail(a, f, c.classify(f, a))
}

// kindOf describes a response that is not JSON.
func kindOf(a *answer) string {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	start := remote.OneLine(html.UnescapeString(tags().ReplaceAllString(a.start, " ")))
	if words := []rune(start); len(words) > 80 {
		start = string(words[:80]) + "…"
	}
	switch {
	case start == "":
		return "empty"
	case kind == "text/html" || strings.HasPrefix(strings.TrimSpace(a.start), "<"):
		return fmt.Sprintf("a web page that begins with %q", start)
	}
	return fmt.Sprintf("a text that begins with %q", start)
}

// redirected returns the error of a redirect, with the URL to use instead.
func (c *Client) redirected(a *answer) error {
	to, err := a.url.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" {
		return c.fail(a, &remote.Failure{Err: errors.New("the site redirects to an invalid URL"), Kind: retry.Permanent}, hintOther)
	}
	goal := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}
	f := &remote.Failure{Err: errors.New("the site redirects to " + goal.String()), Kind: retry.Fatal}
	if strings.Contains(to.Path, "wp-login.php") {
		f.Auth = true
		return c.fail(a, f, hintWall)
	}
	if c.IsOwn(to) {
		return c.fail(a, f, hintNoAPI)
	}
	site := URL{&url.URL{Scheme: to.Scheme, Host: to.Host, Path: c.url.site.Path}}
	return c.fail(a, f, "use the URL that the site redirects to:\n  "+site.String())
}

// classify sets the class of a refusal, and returns the next step.
func (c *Client) classify(f *remote.Failure, a *answer) string {
	switch {
	case f.Code == "rest_no_route":
		f.Is = fs.ErrNotExist
		return "this site has no such route: a plugin may have disabled it, or WordPress is too old"
	case a.status == http.StatusUnauthorized:
		f.Kind, f.Auth, f.Is = retry.Fatal, true, fs.ErrPermission
		return c.unauthorizedHint(f.Code)
	case a.status == http.StatusForbidden && strings.HasPrefix(f.Code, "rest_"):
		f.Auth, f.Is = true, fs.ErrPermission
		if !c.signed {
			return hintCreate
		}
		return hintRights
	case a.status == http.StatusForbidden:
		f.Auth, f.Is = true, fs.ErrPermission
		return hintWall
	case a.status == http.StatusNotFound, a.status == http.StatusGone:
		f.Is = fs.ErrNotExist
	case a.status == http.StatusTooManyRequests, a.status == http.StatusServiceUnavailable:
		f.Kind, f.Wait = retry.Throttled, retry.Asked(a.header)
		return "run the same command again later, or with a lower --concurrency"
	case a.status == http.StatusRequestTimeout, a.status >= 500:
		f.Kind = retry.Transient
		return "look into the error log of the site"
	}
	return ""
}

func (c *Client) unauthorizedHint(code string) string {
	switch {
	case !c.signed:
		return hintCreate
	case strings.HasPrefix(code, "rest_"):
		return hintRights
	}
	return hintWrong
}
