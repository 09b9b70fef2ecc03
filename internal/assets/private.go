package assets

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// AuthorizePrivateAccess gets the cookie with which a browser or another program
// may fetch the files of private categories. It lives as long as the token.
func (c *Client) AuthorizePrivateAccess(ctx context.Context) (*http.Cookie, error) {
	r := &request{
		op: "authorize private access", method: http.MethodPost, route: "/categories/authorizePrivateAccess",
	}
	secret, err := c.credentials.to(r.route).token(ctx, c.now())
	if err != nil {
		return nil, c.tokenError(ctx, r, err)
	}
	var got accessCookie
	r.body, r.into = tokenForm(secret), &got
	if err := c.do(ctx, r); err != nil {
		return nil, err
	}
	return got.cookie, nil
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
		return errors.New("it sets no cookie for private access")
	}
	return nil
}
