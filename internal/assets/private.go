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

// accessRoute returns the cookie, and changes nothing at the service.
const accessRoute = "/categories/authorizePrivateAccess"

// shortestCookie is the minimum length of a cookie that is a secret. The service chooses the value,
// and a single word must not be redacted from all output.
const shortestCookie = 24

// AuthorizePrivateAccess returns the cookie that lets a browser or another program download files
// of private categories. It expires with the token.
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
	if value := got.cookie.Value; len(value) >= shortestCookie { // it is a secret, which delivery hosts may repeat
		c.redactor.Key(value)
	}
	return got.cookie, nil
}

// A privateAccess is the cookie for private files. It is requested after the first refusal. As a
// cookie jar it sends the cookie to the URLs that the rules of cookies permit, and accepts no
// cookies from delivery hosts.
type privateAccess struct {
	mu     sync.Mutex
	jar    *cookiejar.Jar
	secret string // token that requested the cookie; empty without one
}

func newPrivateAccess() (*privateAccess, error) {
	jar, err := cookiejar.New(nil)
	return &privateAccess{jar: jar}, err
}

func (p *privateAccess) Cookies(u *url.URL) []*http.Cookie { return p.jar.Cookies(u) }

func (p *privateAccess) SetCookies(*url.URL, []*http.Cookie) {}

// standsFor returns the token of the cookie that requests use now.
func (p *privateAccess) standsFor() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.secret
}

// openPrivate requests the cookie after a refused request, which had the cookie of token had, or
// none. It reports whether another attempt makes sense: there is a new cookie, which may be sent to
// the URL. Several refused requests share one call.
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

// tokenForm returns a form that contains a token.
func tokenForm(secret string) *payload {
	boundary := rand.Text()
	form := fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n%s\r\n--%s--\r\n", boundary, secret, boundary)
	return &payload{
		contentType: "multipart/form-data; boundary=" + boundary, length: int64(len(form)), decisive: int64(len(form)),
		open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewBufferString(form)), nil },
	}
}

var errNoCookie = errors.New("the response sets no cookie for private access")

// An accessCookie is read from the header of an answer; the body is ignored.
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
