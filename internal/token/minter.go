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

// Claims are the claims of a token.
type Claims struct {
	Environment string // aud; routes the request
	User        string // sub; "assetferry" if empty
	Service     string // key under auth; "ckbox" if empty
	Role        string // "user", "admin" or "superadmin"; "admin" if empty
	Workspace   string // optional; absent means the environment's default workspace
	Issuer      string // iss; "assetferry" if empty
	// Groups are the groups whose permissions the user has; optional. The name of the
	// claim, "groups", is a guess.
	Groups []string
	// Permissions are scopes such as "ai:conversations:*". A token with permissions has no role,
	// workspace or groups, as the AI content service requires.
	Permissions []string
}

const defaultLife = time.Hour

// A Minter signs tokens with the access key of an environment. It returns the same token for half of
// its lifetime, so that a token does not expire during a request.
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

// SetSkew makes new tokens follow the clock of the server, which is ahead of the local clock by skew.
// The cached token stays; see Invalidate.
func (m *Minter) SetSkew(skew time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skew = &skew
}

// now returns the time without the monotonic reading, because that clock stops while a laptop
// sleeps, but tokens still expire.
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
		// The skew is accurate to a second. The service rejects a token from the
		// future, but accepts one that is a second old.
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

// auth returns the claim with the name of the service.
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
