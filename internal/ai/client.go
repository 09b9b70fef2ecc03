// Package ai is a typed client of the AI content service: conversations, actions, reviews,
// document processing and administration.
//
// Its knowledge of the service is partly documented and partly inferred. Inferences are marked
// as guesses, and the path of each endpoint can be set, see [Routes]. The service has no
// idempotency key, so a billable request is never repeated if it may have arrived. Its error
// then satisfies errors.Is(err, ErrMayBeBilled).
package ai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/pattern"
	"assetferry/internal/ratelimit"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// Options configure a client.
type Options struct {
	// BaseURL is a URL such as "https://ai.cke-cs.com". A version at the end, such as "/v1", is
	// removed, because each endpoint has its own.
	BaseURL string
	Tokens  token.Source // required

	Transport http.RoundTripper // nil means NewTransport(nil)
	UserAgent string            // "assetferry" if empty
	// Retry configures repetitions. Zero fields get values for limits per minute of a service
	// that does not report how long to wait: waits up to a minute, for five minutes.
	Retry     retry.Policy
	AllowHTTP bool // allow plain HTTP to hosts other than this one

	// Redactor removes secrets from messages of the service; it learns each token. Nil means a
	// new one.
	Redactor *redact.Redactor

	Limiter *ratelimit.Limiter // decides when a request may be sent; nil: at once
	Quota   *Quota             // enforces limits per minute; nil: none, as on premises
	Routes  Routes             // overrides the default endpoints
	// Compatibility is the version of the list of models; "" means 1, the only known one.
	Compatibility string
	// Language is the language of model descriptions, such as "de"; "" means that of the
	// service. The parameter is a guess.
	Language string
	// IdleTimeout limits how long the service may be silent before or during a response; 0
	// means three minutes, the default time of a model. Requests without a model have at most a
	// minute.
	IdleTimeout time.Duration

	// OnWait is called before each wait between two attempts; it may be nil. Like OnCall, it is
	// called from the goroutine of the request.
	OnWait func(retry.Wait)
	// OnCall is called before the first attempt of a billable request; it may be nil.
	OnCall func(Call)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Call is a request about to be sent.
type Call struct {
	Endpoint Endpoint
	Billable bool
}

// A Client sends requests to the service. Several goroutines may call its methods.
type Client struct {
	base      *url.URL // without a version and a trailing slash
	tokens    token.Source
	transport http.RoundTripper // not an http.Client, which would send the token to redirects
	userAgent string
	redactor  *redact.Redactor
	policy    retry.Policy
	limiter   *ratelimit.Limiter
	quota     *Quota
	routes    Routes
	usual     Routes // default routes, for the order of path parameters

	compatibility string
	language      string
	idleTimeout   time.Duration
	onWait        func(retry.Wait)
	onCall        func(Call)
	now           func() time.Time
}

const (
	defaultIdleTimeout = 3 * time.Minute // LLM_TIMEOUT_MS on premises is 180 s
	// plainTimeout is for requests without a model.
	plainTimeout = time.Minute
)

// New returns a client. It sends no request.
func New(o Options) (*Client, error) {
	if o.Tokens == nil {
		return nil, errors.New("AI content service: no token source")
	}
	base, err := outbound.ParseBase(version().ReplaceAllString(strings.TrimRight(o.BaseURL, "/"), ""), o.AllowHTTP)
	if err != nil {
		return nil, fmt.Errorf("AI content service: %w", err)
	}
	usual := DefaultRoutes()
	routes, err := usual.with(o.Routes)
	if err != nil {
		return nil, fmt.Errorf("AI content service: %w", err)
	}
	c := &Client{
		base: base, tokens: o.Tokens, transport: o.Transport, userAgent: cmp.Or(o.UserAgent, "assetferry"),
		policy: withPatience(o.Retry), limiter: o.Limiter, quota: o.Quota, routes: routes, usual: usual,
		compatibility: cmp.Or(o.Compatibility, "1"), language: o.Language,
		idleTimeout: cmp.Or(o.IdleTimeout, defaultIdleTimeout),
		onWait:      o.OnWait, onCall: o.OnCall, now: o.Now,
	}
	if c.redactor = o.Redactor; c.redactor == nil {
		c.redactor = redact.New()
	}
	if c.transport == nil {
		c.transport = NewTransport(nil)
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

// withPatience sets zero fields so that repetitions outlast a limit per minute several times.
func withPatience(p retry.Policy) retry.Policy {
	p.Attempts = cmp.Or(p.Attempts, 18)
	p.Max = cmp.Or(p.Max, time.Minute)
	p.MaxTime = cmp.Or(p.MaxTime, 5*time.Minute)
	return p
}

// version matches a version at the end of a base URL.
var version = pattern.Lazy(`/v[0-9]+(\.[0-9]+)?$`)

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
