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

// Contents are the claims of a token that have the expected form. They are not verified, because
// only the service can do that.
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

// Read returns the contents of a token for a service. Its error contains no part of the token.
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

// payloadOf returns the second of the three parts of a token.
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

// atSeconds returns a time from seconds since 1970. It returns the zero time if the value is missing
// or implausible.
func atSeconds(seconds float64) time.Time {
	if seconds <= 0 || seconds > 1<<52 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}
