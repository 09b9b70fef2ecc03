// Package ai is a typed client of the AI content service: its conversations, actions, reviews
// and document processing, and what administers them.
//
// What it knows of the service is partly documented and partly inferred; inferences are
// marked as guesses where they matter, and the address of each endpoint can be set, see
// [Routes]. Its care goes to calls that are billed: the service has no idempotency key, so
// such a call is never sent again if it may have arrived. Its error then satisfies
// errors.Is(err, ErrMayBeBilled).
package ai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/redact"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// Options say where the service is and how to talk to it.
type Options struct {
	// BaseURL is such as "https://ai.cke-cs.com". A version at its end, such as "/v1", is cut
	// off: each endpoint has one of its own.
	BaseURL string
	Tokens  token.Source // required

	Transport http.RoundTripper // nil means NewTransport(nil)
	UserAgent string            // "assetferry" if empty
	// Retry paces the tries of one request. Zero fields get what suits limits by the minute of
	// a service that does not say how long to wait: waits of up to a minute, for five minutes.
	Retry     retry.Policy
	AllowHTTP bool // allow plain HTTP to hosts other than this one

	// Redactor strikes secrets out of what the service says; it is told of each token. Nil means
	// one of the client's own.
	Redactor *redact.Redactor

	Limiter *ratelimit.Limiter // decides when a request may be made; nil lets all of them pass
	Budget  *Budget            // keeps to limits by the minute; nil is none, as on premises
	Routes  Routes             // what is said of an endpoint here goes before its default
	// Compatibility is the version of the list of models; 1 if empty, the only one known.
	Compatibility string
	// Language is that of the descriptions of models, such as "de"; the service's own if empty.
	// How it is asked for is a guess.
	Language string
	// IdleTimeout is how long the service may be silent, before its answer or within it; 0
	// means three minutes, which is how long it gives a model by default. What asks no model
	// has a minute at the most.
	IdleTimeout time.Duration

	// OnWait is called before each wait between two tries; it may be nil. Like OnCall it is
	// called from whatever goroutine makes the request.
	OnWait func(retry.Wait)
	// OnCall is called before the first try of a request that can be billed; it may be nil.
	OnCall func(Call)
	// Now is our clock; nil means time.Now.
	Now func() time.Time
}

// A Call is about to be made.
type Call struct {
	Endpoint Endpoint
	Billable bool
}

// A Client talks to the service. Its methods may be called from several goroutines at once.
type Client struct {
	base      *url.URL // without a version, and without a slash at its end
	tokens    token.Source
	transport http.RoundTripper // not an http.Client: that follows redirects, and would take the token along
	userAgent string
	redactor  *redact.Redactor
	policy    retry.Policy
	limiter   *ratelimit.Limiter
	budget    *Budget
	routes    Routes
	usual     Routes // the default ones, which say in which order values go into paths

	compatibility string
	language      string
	idleTimeout   time.Duration
	onWait        func(retry.Wait)
	onCall        func(Call)
	now           func() time.Time
}

const (
	defaultIdleTimeout = 3 * time.Minute // LLM_TIMEOUT_MS on premises is 180 s
	// plainTimeout is for what asks no model.
	plainTimeout = time.Minute
)

// New returns a client. It makes no request.
func New(o Options) (*Client, error) {
	if o.Tokens == nil {
		return nil, errors.New("AI content service: no source of tokens")
	}
	base, err := outbound.ParseBase(version.ReplaceAllString(strings.TrimRight(o.BaseURL, "/"), ""), o.AllowHTTP)
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
		policy: withPatience(o.Retry), limiter: o.Limiter, budget: o.Budget, routes: routes, usual: usual,
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

// withPatience fills in what has a refusal for the limit of a minute outlast that minute,
// several times over.
func withPatience(p retry.Policy) retry.Policy {
	p.Attempts = cmp.Or(p.Attempts, 18)
	p.Max = cmp.Or(p.Max, time.Minute)
	p.MaxTime = cmp.Or(p.MaxTime, 5*time.Minute)
	return p
}

// version is what some configurations have at the end of a base address.
var version = regexp.MustCompile(`/v[0-9]+(\.[0-9]+)?$`)

// CloseIdleConnections closes connections that are not in use.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
