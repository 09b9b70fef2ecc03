package assets

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
)

// accessRoute gives the cookie, and changes nothing at the service.
const accessRoute = "/categories/authorizePrivateAccess"

// shortestCookie is how many characters a cookie has that opens something. The service chooses
// it, and must not have single words struck out of what is shown.
const shortestCookie = 24

// AuthorizePrivateAccess gets the cookie with which a browser or another program
// may fetch the files of private categories. It lives as long as the token.
func (c *Client) AuthorizePrivateAccess(ctx context.Context) (*http.Cookie, error) {
	r := accessRequest()
	secret, err := c.credentials.to(r.route).token(ctx, c.now())
	if err != nil {
		return nil, c.tokenError(ctx, r, err)
	}
	return c.accessFor(ctx, r, secret)
}

func accessRequest() *request {
	return &request{op: "authorize private access", method: http.MethodPost, route: accessRoute}
}

func (c *Client) accessFor(ctx context.Context, r *request, secret string) (*http.Cookie, error) {
	var got accessCookie
	r.body, r.into = tokenForm(secret), &got
	if err := c.do(ctx, r); err != nil {
		return nil, err
	}
	if value := got.cookie.Value; len(value) >= shortestCookie { // it opens files, and the host that delivers them may repeat it
		c.redactor.Key(value)
	}
	return got.cookie, nil
}

// A privateAccess is the cookie for private files, once one of them has been refused
// without it. As a jar it gives the cookie to the URLs that the rules of cookies
// allow, and takes none from anybody who delivers files.
type privateAccess struct {
	mu     sync.Mutex
	jar    *cookiejar.Jar
	secret string // the token that the cookie was asked for with; empty if none was
}

func newPrivateAccess() (*privateAccess, error) {
	jar, err := cookiejar.New(nil)
	return &privateAccess{jar: jar}, err
}

func (p *privateAccess) Cookies(u *url.URL) []*http.Cookie { return p.jar.Cookies(u) }

func (p *privateAccess) SetCookies(*url.URL, []*http.Cookie) {}

// standsFor is the token of the cookie that requests get now.
func (p *privateAccess) standsFor() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secret
}

// openPrivate gets the cookie after a request was refused that had the one of a token,
// or none, and reports whether another try makes sense: if there is a new cookie, and it
// may go to the URL. However many are refused, one gets it.
func (c *Client) openPrivate(ctx context.Context, u *url.URL, had string) (bool, error) {
	r, p := accessRequest(), c.private
	secret, err := c.credentials.to(r.route).token(ctx, c.now())
	if err != nil {
		return false, c.tokenError(ctx, r, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.secret == had && p.secret != secret {
		cookie, err := c.accessFor(ctx, r, secret)
		switch {
		case err == nil:
			p.jar.SetCookies(c.base.JoinPath(accessRoute), []*http.Cookie{cookie})
		case !errors.Is(err, errNoCookie):
			return false, err
		}
		p.secret = secret
	}
	return p.secret != had && len(p.jar.Cookies(u)) > 0, nil
}

// tokenForm is a form with a token in it.
func tokenForm(secret string) *payload {
	boundary := rand.Text()
	form := fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n%s\r\n--%s--\r\n", boundary, secret, boundary)
	return &payload{
		contentType: "multipart/form-data; boundary=" + boundary, length: int64(len(form)), decisive: int64(len(form)),
		open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewBufferString(form)), nil },
	}
}

var errNoCookie = errors.New("the response sets no cookie for private access")

// An accessCookie is in the head of an answer, whose body does not matter.
type accessCookie struct{ cookie *http.Cookie }

func (a *accessCookie) head(h http.Header) {
	for _, line := range h.Values("Set-Cookie") {
		if cookie, err := http.ParseSetCookie(line); err == nil && strings.HasSuffix(cookie.Name, "CKBox-Auth") {
			a.cookie = cookie
		}
	}
}

func (a *accessCookie) read(int, []byte) error { return a.check() }

func (a *accessCookie) check() error {
	if a.cookie == nil || a.cookie.Value == "" {
		return errNoCookie
	}
	return nil
}
