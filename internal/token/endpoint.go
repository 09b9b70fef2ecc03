package token

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// endpointLife is how long a token without an expiry is used, as in the editors of the vendor.
const endpointLife = time.Hour

// EndpointOptions are the settings of requests to an endpoint.
type EndpointOptions struct {
	Transport http.RoundTripper // nil means http.DefaultTransport
	AllowHTTP bool              // allow plain HTTP to hosts other than this one
	Timeout   time.Duration     // of one request; 0 means 30 s
	Retry     retry.Policy      // the zero policy retries for up to 30 s
	Now       func() time.Time  // nil means time.Now
}

// An Endpoint is a URL that returns a token, as applications have one for their editors. The URL
// may contain a secret, so only its origin is shown. Requests contain no credentials, and redirects
// are not followed.
type Endpoint struct {
	url       Secret
	origin    string
	transport http.RoundTripper
	timeout   time.Duration
	policy    retry.Policy
	clock     func() time.Time
	held      held
}

// NewEndpoint returns the endpoint at a URL. It makes no request.
func NewEndpoint(endpointURL Secret, o EndpointOptions) (*Endpoint, error) {
	u, err := url.Parse(endpointURL.Reveal())
	if err != nil || u.Host == "" {
		return nil, errors.New("token endpoint: the URL is not of the form https://host/path")
	}
	if u.User != nil {
		return nil, errors.New("token endpoint: the URL must not contain a user name or password")
	}
	if err := outbound.CheckScheme(u, o.AllowHTTP); err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	e := &Endpoint{
		url: endpointURL, origin: outbound.Origin(u), transport: o.Transport,
		timeout: cmp.Or(o.Timeout, defaultTimeout), policy: o.Retry, clock: o.Now, held: newHeld(endpointLife),
	}
	e.policy.MaxTime = cmp.Or(e.policy.MaxTime, 30*time.Second)
	if e.transport == nil {
		e.transport = http.DefaultTransport
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	return e, nil
}

// Token returns a cached token or requests one, one call at a time. It uses a token for half of the
// remaining lifetime, or for an hour if the token has no expiry.
func (e *Endpoint) Token(ctx context.Context) (Secret, error) {
	// Without the monotonic reading; see Minter.now.
	return e.held.get(ctx, func() time.Time { return e.clock().Round(0) }, func() (got Secret, err error) {
		err = e.policy.Do(ctx, nil, func(ctx context.Context) (err error) {
			got, err = e.ask(ctx)
			return err
		})
		return got, err
	})
}

// Invalidate forgets the cached token.
func (e *Endpoint) Invalidate() { e.held.forget() }

// An EndpointError is the error of a request for a token. It contains no secrets.
type EndpointError struct {
	Origin string // of the URL
	Status int    // of the answer; 0 if there is none
	Err    error  // nil if the endpoint only refused
	class  retry.Class
}

func (e *EndpointError) Error() string {
	text := "token endpoint at " + e.Origin
	if e.Status != 0 && e.Err == nil {
		return fmt.Sprintf("%s: %d %s", text, e.Status, http.StatusText(e.Status))
	}
	return text + ": " + e.Err.Error()
}

func (e *EndpointError) Unwrap() error { return e.Err }

// Class returns whether another attempt may succeed.
func (e *EndpointError) Class() retry.Class { return e.class }

// Hint returns the next step for the user.
func (e *EndpointError) Hint() string {
	if e.Err != nil && e.Status == 0 {
		return outbound.Hint(e.Err, e.Origin)
	}
	return "open the URL of the token endpoint: it must return a token and nothing else"
}

// ask sends one request for a token.
func (e *Endpoint) ask(parent context.Context) (Secret, error) {
	ctx, cancel := context.WithTimeout(parent, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url.Reveal(), nil)
	if err != nil {
		return Secret{}, &EndpointError{Origin: e.origin, Err: errors.New("the URL is not valid"), class: retry.Fatal}
	}
	req.Header.Set("Accept", "text/plain, application/json;q=0.9")
	req.Header.Set("User-Agent", "assetferry")
	resp, err := e.transport.RoundTrip(req) // and not through an http.Client, which follows redirects
	if err != nil {
		return Secret{}, e.failure(parent, err)
	}
	defer outbound.Drain(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Secret{}, &EndpointError{Origin: e.origin, Status: resp.StatusCode, class: classOfStatus(resp.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err != nil {
		return Secret{}, e.failure(parent, err)
	}
	got, err := parseToken(body)
	if err != nil {
		return Secret{}, &EndpointError{Origin: e.origin, Status: resp.StatusCode, Err: err, class: retry.Fatal}
	}
	return got, nil
}

// failure returns the error of a request without a usable response.
func (e *Endpoint) failure(parent context.Context, err error) error {
	if parent.Err() != nil {
		return outbound.ContextError(parent)
	}
	failure := &EndpointError{Origin: e.origin, Err: outbound.WithoutURL(err), class: retry.Transient}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		failure.Err = fmt.Errorf("took longer than %v", e.timeout)
	case outbound.IsTrustError(err):
		failure.class = retry.Fatal
	}
	return failure
}

func classOfStatus(status int) retry.Class {
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return retry.Throttled
	case status == http.StatusRequestTimeout, status >= 500:
		return retry.Transient
	}
	return retry.Fatal
}

// parseToken returns the token in a response: as plain text, as a JSON string, or as the field
// "token" of a JSON object. Its error does not contain the response.
func parseToken(body []byte) (Secret, error) {
	body = bytes.TrimSpace(body)
	text := string(body)
	var object struct{ Token string }
	switch {
	case len(body) > maxOutput:
		return Secret{}, errors.New("the answer is too long for a token")
	case bytes.HasPrefix(body, []byte("{")) && json.Unmarshal(body, &object) == nil:
		text = object.Token
	case bytes.HasPrefix(body, []byte(`"`)) && json.Unmarshal(body, &text) != nil:
		text = ""
	}
	if strings.Count(text, ".") != 2 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Secret{}, errors.New("the answer is not a token of three parts")
	}
	return NewSecret(text), nil
}
