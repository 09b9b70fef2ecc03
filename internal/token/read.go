package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Contents are what a token says, as far as it says it in the expected form. They
// are not checked: only the service can do that.
type Contents struct {
	Audience   string // aud
	User       string // sub
	Issued     time.Time
	Expires    time.Time // zero: never
	Services   []string  // the keys under auth
	Role       string
	Workspaces []string
	Listed     bool // there is a list of workspaces, which may be empty
}

// Read reads a token for a service. The error repeats nothing of the token.
func Read(s Secret, service string) (Contents, error) {
	payload, err := payloadOf(s)
	if err != nil {
		return Contents{}, err
	}
	var claims struct {
		Aud, Sub string
		Iat, Exp float64
		Auth     map[string]struct {
			Role       string
			Workspaces *[]string
		}
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Contents{}, fmt.Errorf("the claim %s of the token is a %s", e.Field, e.Value)
		}
		return Contents{}, errors.New("the claims of the token are not a JSON object")
	}
	c := Contents{Audience: claims.Aud, User: claims.Sub, Issued: atSeconds(claims.Iat), Expires: atSeconds(claims.Exp)}
	for name := range claims.Auth {
		c.Services = append(c.Services, name)
	}
	slices.Sort(c.Services)
	ours := claims.Auth[service]
	c.Role = ours.Role
	if ours.Workspaces != nil {
		c.Workspaces, c.Listed = *ours.Workspaces, true
	}
	return c, nil
}

// payloadOf is the middle one of a token's three parts.
func payloadOf(s Secret) ([]byte, error) {
	parts := strings.Split(s.Reveal(), ".")
	if len(parts) != 3 {
		return nil, errors.New("the token is not a JSON web token: it does not have three parts")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errors.New("the token is not a JSON web token: its middle part is not base64url")
	}
	return payload, nil
}

// atSeconds reads a time in seconds since 1970; what is not there, or no time that
// anybody means, is zero.
func atSeconds(seconds float64) time.Time {
	if seconds <= 0 || seconds > 1<<52 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}
