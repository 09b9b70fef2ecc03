package sandbox

import (
	"io"
	"net/http"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/tokens"
)

// The cookie for private categories. With TLS it is bound to the host.
const (
	cookieName       = "CKBox-Auth"
	secureCookieName = "__Host-CKBox-Auth"
)

// authorizePrivateAccess sets a cookie for private assets. It contains the token, so it expires
// with it.
func (s *Server) authorizePrivateAccess(c *call) error {
	parts, err := c.R.MultipartReader()
	if err != nil {
		return problem.Refuse(http.StatusBadRequest, "The body is not a multipart form: %v.", err)
	}
	var token string
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { // unwrapped: the form has ended
			break
		}
		if err != nil {
			return problem.Refuse(http.StatusBadRequest, "The form is damaged: %v.", err)
		}
		value, err := io.ReadAll(io.LimitReader(part, tokens.MaxToken+1))
		if err != nil {
			return problem.Refuse(http.StatusBadRequest, "The form is damaged: %v.", err)
		}
		if field, _, _ := naming.Disposition(part.Header.Get("Content-Disposition")); field == "token" {
			token = string(value)
		}
	}
	if _, err := s.tokens.Verify(token, s.now()); err != nil {
		return err
	}
	cookie := &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true}
	if c.R.TLS != nil {
		cookie.Name, cookie.Secure, cookie.Partitioned = secureCookieName, true, true
		cookie.SameSite = http.SameSiteNoneMode
	}
	http.SetCookie(c.W, cookie)
	return c.Done()
}

// admitPrivate admits requests with the cookie. That a token is also sufficient is a guess.
func (s *Server) admitPrivate(c *call, workspace, category string) error {
	token := c.R.Header.Get("Authorization")
	for _, name := range []string{cookieName, secureCookieName} {
		if cookie, err := c.R.Cookie(name); err == nil && token == "" {
			token = cookie.Value
		}
	}
	who, err := s.tokens.Verify(token, s.now())
	if err != nil {
		return err
	}
	if !s.sees(who, workspace) {
		return noAccess(workspace)
	}
	c.who = who
	return c.allow(workspace, category)
}
