package aiservice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/sandbox/tokens"
)

// TokenPath returns the path of the endpoint that issues tokens of the first environment to clients
// that know the path; "" without an environment. It is as secret as a key.
//
// The query may contain user, permission (repeatable; default ai:admin) and life in seconds
// (default 3600, at most a day); all of them are guesses.
func (s *Server) TokenPath() string {
	if len(s.options.Environments) == 0 {
		return ""
	}
	return "/token/dev/" + tokenHash(s.options.Environments[0])
}

func tokenHash(e tokens.Environment) string {
	m := hmac.New(sha256.New, []byte(e.AccessKey))
	m.Write([]byte("development token of " + e.ID))
	return hex.EncodeToString(m.Sum(nil)[:20])
}

// issueToken responds with a token as text, as clients of the service expect, or in JSON if
// requested.
func (s *Server) issueToken(c *call) error {
	for _, e := range s.options.Environments {
		if hmac.Equal([]byte(tokenHash(e)), []byte(c.args[0])) {
			return s.issueFor(c, e)
		}
	}
	return refuse(http.StatusNotFound, "not-found", "This service has no token endpoint.")
}

func (s *Server) issueFor(c *call, e tokens.Environment) error {
	user, permissions, life := "developer", []string{adminScope}, time.Hour
	if c.query.Get("user") != "" {
		user = c.query.Get("user")
	}
	if c.query.Has("permission") {
		permissions = c.query["permission"]
	}
	if text := c.query.Get("life"); c.query.Has("life") {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 || seconds > 24*60*60 {
			return malformed("life", "must be a number of seconds from 1 to 86400")
		}
		life = time.Duration(seconds) * time.Second
	}
	now := s.options.Now()
	token, err := signToken(e.AccessKey, map[string]any{
		"aud": e.ID, "sub": user, "iat": now.Unix(), "exp": now.Add(life).Unix(),
		"auth": map[string]any{"ai": map[string]any{"permissions": permissions}},
	})
	if err != nil {
		return err
	}
	c.W.Header().Set("Cache-Control", "no-store")
	if strings.Contains(c.R.Header.Get("Accept"), "application/json") {
		return c.Reply(http.StatusOK, map[string]string{"token": token})
	}
	return c.SendText("text/plain; charset=utf-8", []byte(token))
}

func signToken(key tokens.AccessKey, claims map[string]any) (string, error) {
	b, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode claims: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(b)
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil)), nil
}
