package assets

import (
	"context"
	"strings"
	"sync"
	"time"

	"assetferry/internal/redact"
	"assetferry/internal/token"
)

// tokenRest is the age below which a refused token is not replaced: a new one would be the
// same.
const tokenRest = time.Minute

// A credential is a source of tokens with the state of the current one.
type credential struct {
	source     token.Source
	server     *clock
	redactor   *redact.Redactor
	signatures *redact.Redactor // see Client

	mu       sync.Mutex
	current  string        // the token last used
	since    time.Time     // first use
	skew     time.Duration // of the server clock, as known then
	replaced int           // number of replaced tokens
}

// A used token is the token of a request.
type used struct {
	secret   string
	replaced int // number of replaced tokens at the time of the request
}

// credentials are selected by the beginning of a route. All may be the same.
type credentials struct{ user, admin, superadmin *credential }

func (c *Client) credentialsOf(o Options) credentials {
	of := func(source token.Source) *credential {
		return &credential{source: source, server: &c.clock, redactor: c.redactor, signatures: c.signatures}
	}
	all := credentials{user: of(o.Tokens)}
	all.admin, all.superadmin = all.user, all.user
	if o.AdminTokens != nil {
		all.admin = of(o.AdminTokens)
	}
	if o.SuperadminTokens != nil {
		all.superadmin = of(o.SuperadminTokens)
	}
	return all
}

// to returns the credential for a route.
func (c credentials) to(route string) *credential {
	switch {
	case strings.HasPrefix(route, "/admin/"):
		return c.admin
	case strings.HasPrefix(route, "/superadmin/"):
		return c.superadmin
	}
	return c.user
}

// token returns the current token.
func (c *credential) token(ctx context.Context, now time.Time) (string, error) {
	t, err := c.use(ctx, now)
	return t.secret, err
}

// use returns the current token and records its first use.
func (c *credential) use(ctx context.Context, now time.Time) (used, error) {
	c.mu.Lock()
	replaced := c.replaced
	c.mu.Unlock()
	secret, err := c.source.Token(ctx)
	if err != nil {
		return used{}, err
	}
	s := secret.Reveal()
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == c.current {
		return used{s, replaced}, nil
	}
	c.redactor.Token(s)
	if parts := strings.Split(s, "."); len(parts) == 3 {
		c.signatures.Token(parts[2])
	}
	if replaced == c.replaced { // unless it may be the previous one
		c.current, c.since = s, now
		c.skew, _ = c.server.skew()
	}
	return used{s, replaced}, nil
}

// renew replaces a refused token, unless it was already replaced, and reports whether another
// attempt is useful. A new token is only replaced if its time was wrong, also after a clock was
// set.
func (c *credential) renew(ctx context.Context, refused used, now time.Time, follow func() (skew time.Duration, follows bool)) bool {
	if now, err := c.source.Token(ctx); err != nil || now.Reveal() != refused.secret {
		return err == nil
	}
	skew, follows := follow()
	c.mu.Lock()
	defer c.mu.Unlock()
	if refused.secret != c.current || refused.replaced != c.replaced {
		return true
	}
	wrong := follows && skew != c.skew
	if !wrong && now.Sub(c.since) < tokenRest {
		return false
	}
	c.source.Invalidate()
	c.replaced++
	return true
}

// followServer sets the clocks of tokens by the server if configured. It returns the skew, and
// whether a clock was set.
func (c *Client) followServer() (skew time.Duration, follows bool) {
	skew, known := c.clock.skew()
	if !c.compensate || !known {
		return 0, false
	}
	for _, of := range []*credential{c.credentials.user, c.credentials.admin, c.credentials.superadmin} {
		if source, ok := of.source.(interface{ SetSkew(time.Duration) }); ok {
			source.SetSkew(skew)
			follows = true
		}
	}
	return skew, follows
}
