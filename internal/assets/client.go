// Package assets is a typed client of the asset management API.
//
// Its knowledge of the service is partly documented and partly inferred; inferences are marked.
// The service has no idempotency key and accepts equal names, so a request that creates
// something is never repeated if it may have arrived. Its error then satisfies errors.Is(err,
// ErrUnconfirmed).
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

// Options configure a client.
type Options struct {
	BaseURL string       // such as "https://api.ckbox.io"
	Tokens  token.Source // required
	// AdminTokens and SuperadminTokens, if set, are used below /admin/ and /superadmin/. Tokens
	// then only needs the role user.
	AdminTokens, SuperadminTokens token.Source
	Workspace                     string // "": default workspace of the service

	Transport http.RoundTripper // nil means NewTransport(nil)
	UserAgent string            // "assetferry" if empty
	Retry     retry.Policy      // the zero policy gets a time limit of two minutes
	ReadOnly  bool              // refuse requests that could write, see ErrReadOnly
	AllowHTTP bool              // allow plain HTTP to hosts other than this one
	// AllowPrivateNetworks permits URLs in responses that lead to this machine or private
	// networks, even if the base URL does not.
	AllowPrivateNetworks bool

	// Redactor removes secrets from messages of the service; it learns each token. Nil means a
	// new one.
	Redactor *redact.Redactor
	// Limiter decides when a request may be sent; nil means at once.
	Limiter *ratelimit.Limiter
	// Bandwidth limits the upload rate; nil means no limit.
	Bandwidth *ratelimit.Bandwidth
	// OnWait is called before each wait between two attempts; it may be nil. It is called from
	// the goroutine of the request.
	OnWait func(retry.Wait)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// CompensateClock sets iat by the clock of the server if Tokens has a method
	// SetSkew(time.Duration). A refused token gets another attempt once the server's clock is
	// known.
	CompensateClock bool
}

// A Client sends requests to the service. Several goroutines may call its methods.
type Client struct {
	base      *url.URL // without a trailing slash
	workspace string
	userAgent string
	policy    retry.Policy
	limiter   *ratelimit.Limiter
	bandwidth *ratelimit.Bandwidth
	onWait    func(retry.Wait)
	now       func() time.Time

	// transport sends all requests. The API does not use http.Client, which follows redirects
	// and reopens bodies for them: no other host may get the token or an upload.
	transport http.RoundTripper
	delivery  *delivery    // for URLs in responses
	files     *http.Client // for downloads: follows redirects without the token
	anonymous *http.Client // the same without the cookie for private files

	credentials credentials
	redactor    *redact.Redactor
	// signatures are those of the sent tokens. A response that contains one is refused, because
	// it would be stored with the token. Signatures are random, so no other content looks like
	// one.
	signatures *redact.Redactor
	compensate bool
	private    *privateAccess

	clock     clock
	sandbox   atomic.Bool // see IsSandbox
	unordered atomic.Bool // see Unordered
	pageSizes paging.Sizes
}

// New returns a client. It sends no request.
func New(o Options) (*Client, error) {
	if o.Tokens == nil {
		return nil, errors.New("assets: no token source")
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
	c.anonymous = &http.Client{Transport: follower{c.delivery}, CheckRedirect: follow}
	return c, nil
}

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { c.files.CloseIdleConnections() }

// Skew returns how far the server clock is ahead of the local clock (negative: behind), as of
// the last response, and whether it is known. Servers report whole seconds, so the result is in
// seconds, and 0 if the difference may be due to that.
func (c *Client) Skew() (time.Duration, bool) { return c.clock.skew() }

// sandboxHeader is in every response of a sandbox, and in none of the service.
const sandboxHeader = "X-Sandbox"

// IsSandbox reports whether the last response came from a sandbox. Before the first response it
// returns false.
func (c *Client) IsSandbox() bool { return c.sandbox.Load() }

// inWorkspace returns a query of key-value pairs with the workspace.
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
