package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Claims are what a token says.
type Claims struct {
	Environment string // aud; routes the request
	User        string // sub; "assetferry" if empty
	Service     string // key under auth; "ckbox" if empty
	Role        string // "user", "admin" or "superadmin"; "admin" if empty
	Workspace   string // optional; absent means the environment's default workspace
	Issuer      string // iss; "assetferry" if empty
	// Groups are those whose permissions a user has; optional. The name of the
	// claim, "groups", is a guess.
	Groups []string
	// Permissions are scopes such as "ai:conversations:*". If there are any, they are all that
	// the token says beside whom it is for, as the AI content service wants it: no role, no
	// workspace, no groups.
	Permissions []string
}

const defaultLife = time.Hour

// A Minter signs tokens with the access key of an environment. It hands out the
// same token for half of its life, so that one never expires on its way.
type Minter struct {
	Life time.Duration    // how long a token is valid; 0 means an hour. Set it before first use
	Now  func() time.Time // nil means time.Now. Set it before first use

	key    []byte
	claims Claims

	mu     sync.Mutex
	skew   *time.Duration // the server's clock minus ours; nil: our clock is right
	cached Secret
	minted time.Time
}

// NewMinter returns a Minter that signs claims with key.
func NewMinter(key Secret, claims Claims) (*Minter, error) {
	switch {
	case key.IsEmpty():
		return nil, errors.New("token: no access key")
	case claims.Environment == "":
		return nil, errors.New("token: no environment ID")
	}
	claims.User = cmp.Or(claims.User, "assetferry")
	claims.Service = cmp.Or(claims.Service, "ckbox")
	claims.Role = cmp.Or(claims.Role, "admin")
	claims.Issuer = cmp.Or(claims.Issuer, "assetferry")
	return &Minter{key: []byte(key.Reveal()), claims: claims}, nil
}

// Token returns a cached token or signs a new one.
func (m *Minter) Token(context.Context) (Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.isFresh(now) {
		return m.cached, nil
	}
	signed, err := m.sign(now)
	if err != nil {
		return Secret{}, fmt.Errorf("sign token: %w", err)
	}
	m.cached, m.minted = NewSecret(signed), now
	return m.cached, nil
}

// Invalidate forgets the cached token.
func (m *Minter) Invalidate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cached = Secret{}
}

// SetSkew makes the tokens signed from now on follow the server's clock, which
// is ahead of ours by skew. The cached token stays; see Invalidate.
func (m *Minter) SetSkew(skew time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skew = &skew
}

// now is free of the monotonic reading, which stands still while a laptop
// sleeps; a token's life does not.
func (m *Minter) now() time.Time {
	if m.Now == nil {
		return time.Now().Round(0)
	}
	return m.Now().Round(0)
}

func (m *Minter) isFresh(now time.Time) bool {
	age := now.Sub(m.minted)
	return !m.cached.IsEmpty() && age >= 0 && age < m.life()/2 // a negative age: the clock was set back
}

func (m *Minter) life() time.Duration { return cmp.Or(m.Life, defaultLife) }

func (m *Minter) sign(now time.Time) (string, error) {
	issued := now
	if m.skew != nil {
		// What we know of the server's clock is good to a second. A token
		// from the future is refused, one a second old is not.
		issued = now.Add(*m.skew - time.Second)
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"aud":  m.claims.Environment,
		"sub":  m.claims.User,
		"iss":  m.claims.Issuer,
		"iat":  issued.Unix(),
		"exp":  issued.Add(m.life()).Unix(),
		"auth": map[string]any{m.claims.Service: m.claims.auth()},
	}).SignedString(m.key)
}

// auth is what a token says under the name of the service.
func (c *Claims) auth() map[string]any {
	if len(c.Permissions) > 0 {
		return map[string]any{"permissions": c.Permissions}
	}
	auth := map[string]any{"role": c.Role}
	if c.Workspace != "" { // an empty array is an error to the service
		auth["workspaces"] = []string{c.Workspace}
	}
	if len(c.Groups) > 0 {
		auth["groups"] = c.Groups
	}
	return auth
}
