// Package assets is a typed client of the asset management API.
//
// What it knows of the service is partly documented and partly inferred;
// inferences are marked as such where they matter. Its care goes to requests
// that create something: the service has no idempotency key and accepts equal
// names, so such a request is never sent again if it may have arrived. Its error
// then satisfies errors.Is(err, ErrUnconfirmed).
package assets

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"assetferry/internal/assets/paging"
	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// Options say where the service is and how to talk to it.
type Options struct {
	BaseURL string       // such as "https://api.ckbox.io"
	Tokens  token.Source // required
	// AdminTokens and SuperadminTokens, if there are any, are used under /admin/ and
	// /superadmin/ instead. Tokens then need no more than the role of a user.
	AdminTokens, SuperadminTokens token.Source
	Workspace                     string // optional; the service's default workspace if empty

	Transport http.RoundTripper // nil means NewTransport(nil)
	UserAgent string            // "assetferry" if empty
	Retry     retry.Policy      // the zero policy gets a budget of two minutes
	ReadOnly  bool              // refuse what could write, see ErrReadOnly
	AllowHTTP bool              // allow plain HTTP to hosts other than this one
	// AllowPrivateNetworks follows URLs in answers that lead to this machine or into private
	// networks, also where the base address does not.
	AllowPrivateNetworks bool

	// Redactor strikes secrets out of what the service says; it is told of each token. Nil means
	// one of the client's own.
	Redactor *redact.Redactor
	// Limiter decides when a request may be made; nil lets all of them pass.
	Limiter *ratelimit.Limiter
	// Bandwidth bounds how fast contents are sent; nil is no bound.
	Bandwidth *ratelimit.Bandwidth
	// OnWait is called before each wait between two tries; it may be nil. It is
	// called from whatever goroutine makes the request.
	OnWait func(retry.Wait)
	// Now is our clock; nil means time.Now.
	Now func() time.Time
	// CompensateClock sets iat by the server's clock, as far as Tokens has a
	// method SetSkew(time.Duration), and gives a refused token a second chance
	// once the server's clock is known.
	CompensateClock bool
}

// A Client talks to the service. Its methods may be called from several
// goroutines at once.
type Client struct {
	base      *url.URL // without a slash at its end
	workspace string
	userAgent string
	policy    retry.Policy
	limiter   *ratelimit.Limiter
	bandwidth *ratelimit.Bandwidth
	onWait    func(retry.Wait)
	now       func() time.Time

	// transport carries all requests. The API goes without http.Client, which
	// follows redirects and opens bodies for them: nobody else gets the token or
	// a second copy of an upload.
	transport http.RoundTripper
	delivery  *delivery    // carries what is at URLs that answers name
	files     *http.Client // for downloads: follows redirects, without taking the token elsewhere
	anybody   *http.Client // the same without the cookie for private files

	credentials credentials
	redactor    *redact.Redactor
	// signatures are those of the tokens that were sent. An answer that holds one is refused: what
	// it says would be kept, and the token with it. Signatures are random, unlike what else is in a
	// token, so nothing that the service has reason to say looks like one.
	signatures *redact.Redactor
	compensate bool
	private    *privateAccess

	clock     clock
	sandbox   atomic.Bool // see IsSandbox
	unordered atomic.Bool // see Unordered
	pageSizes paging.Sizes
}

// New returns a client. It makes no request.
func New(o Options) (*Client, error) {
	if o.Tokens == nil {
		return nil, errors.New("assets: no source of tokens")
	}
	base, err := outbound.ParseBase(o.BaseURL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base:       base,
		workspace:  o.Workspace,
		userAgent:  cmp.Or(o.UserAgent, "assetferry"),
		policy:     o.Retry,
		limiter:    o.Limiter,
		bandwidth:  o.Bandwidth,
		onWait:     o.OnWait,
		now:        o.Now,
		compensate: o.CompensateClock,
		pageSizes:  paging.Sizes{Refused: isBadRequest},
	}
	if c.redactor = o.Redactor; c.redactor == nil {
		c.redactor = redact.New()
	}
	c.signatures = redact.New()
	c.credentials = c.credentialsOf(o)
	if c.now == nil {
		c.now = time.Now
	}
	c.policy.MaxTime = cmp.Or(c.policy.MaxTime, 2*time.Minute)
	c.transport = transportOf(o, base)
	if c.private, err = newPrivateAccess(); err != nil {
		return nil, err
	}
	c.delivery = newDelivery(o, base, c.transport)
	follow := outbound.FollowRedirects(maxRedirects, c.delivery.checkRedirect)
	c.files = &http.Client{Transport: follower{c.delivery}, CheckRedirect: follow, Jar: c.private}
	c.anybody = &http.Client{Transport: follower{c.delivery}, CheckRedirect: follow}
	return c, nil
}

// CloseIdleConnections closes connections that are not in use.
func (c *Client) CloseIdleConnections() { c.files.CloseIdleConnections() }

// Skew returns how far the server's clock is ahead of ours (behind, if
// negative), as of its last answer, and whether it is known. A server tells its
// time in whole seconds, so the result is one too, and 0 if the difference may
// be nothing but that.
func (c *Client) Skew() (time.Duration, bool) { return c.clock.skew() }

// sandboxHeader is in every answer of a sandbox, and in none of the service.
const sandboxHeader = "X-Sandbox"

// IsSandbox reports whether what answered last is a sandbox. Before the first answer it
// says no.
func (c *Client) IsSandbox() bool { return c.sandbox.Load() }

// inWorkspace makes a query of pairs of key and value, and names the workspace.
func (c *Client) inWorkspace(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	if c.workspace != "" {
		query.Set("workspaceId", c.workspace)
	}
	return query
}
