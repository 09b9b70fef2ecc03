package ai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
)

// maxTransient is the maximum number of attempts after transient errors. Rejections for the rate
// are repeated for longer, because they end with the minute.
const maxTransient = 5

// A request is a call of the service.
type request struct {
	op       string // operation, for people
	subject  string // object, for people; may be empty
	endpoint Endpoint
	ids      []string // values of the path parameters, in order
	query    url.Values
	body     *payload // nil without a body
	accept   string   // "application/json" if empty

	billable bool         // each execution is billed, see ErrMayBeBilled
	creates  bool         // each execution creates a permanent object, see ErrUnconfirmed
	public   bool         // without a token
	secrets  []string     // sent secrets, which are removed from answers
	most     int64        // maximum size of the answer in bytes; 0: maxAnswer
	cost     Cost         // its share of the limits
	onError  func(*Error) // called after each failed attempt; may be nil
}

// A payload is the body of a request. It can be opened several times.
type payload struct {
	contentType string
	length      int64
	open        func() (io.ReadCloser, error)
}

// jsonPayload encodes a value as JSON. It does not escape HTML, which would make it much longer.
func jsonPayload(value any) *payload {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	err := w.Encode(value)
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return &payload{
		contentType: "application/json", length: int64(len(data)),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), err },
	}
}

// A reply is a successful answer with an unread body.
type reply struct {
	*http.Response
	dog *outbound.Watchdog // watches the body
	ctx context.Context    // context of the watchdog
}

// do sends a request, repeats it if that is safe, and calls take with the answer. take returns
// whether it keeps the body.
func (c *Client) do(ctx context.Context, r *request, take func(*reply) (kept bool, err error)) error {
	route := c.routes[r.endpoint]
	path, err := route.fill(c.usual[r.endpoint].Path, r.ids)
	if err != nil {
		e := c.newError(r)
		e.Err, e.class = err, retry.Permanent
		return e
	}
	for _, s := range r.secrets {
		c.redactor.Key(s)
	}
	if r.billable && c.onCall != nil {
		c.onCall(Call{Endpoint: r.endpoint, Billable: true})
	}
	transient := 0
	return c.policy.Do(ctx, c.onWait, func(ctx context.Context) error {
		err := c.authorized(ctx, r, path, take)
		e, ok := errors.AsType[*Error](err)
		if ok && r.onError != nil {
			r.onError(e)
		}
		if ok && e.class == retry.Transient {
			transient++
		}
		if !ok || e.final || transient >= maxTransient || (r.billable || r.creates) && !e.resend {
			return retry.Stop(err)
		}
		return err
	})
}

// authorized sends a request with a token, and again with a new token if the service rejects the
// first. A 401 is definite, so this includes billed requests.
func (c *Client) authorized(ctx context.Context, r *request, path string, take func(*reply) (bool, error)) error {
	if r.public {
		return c.exchange(ctx, r, path, "", take)
	}
	for second := false; ; second = true {
		secret, err := c.tokens.Token(ctx)
		if err != nil {
			return c.tokenError(ctx, r, err)
		}
		c.redactor.Token(secret.Reveal())
		err = c.exchange(ctx, r, path, secret.Reveal(), take)
		e, ok := errors.AsType[*Error](err)
		if second || !ok || e.Status != http.StatusUnauthorized {
			return err
		}
		if now, err := c.tokens.Token(ctx); err == nil && now.Reveal() == secret.Reveal() {
			c.tokens.Invalidate() // unless another goroutine has done so
		}
	}
}

// exchange sends a request once, after its wait for the limits, and reads its answer.
func (c *Client) exchange(ctx context.Context, r *request, path, secret string, take func(*reply) (bool, error)) error {
	ticket, err := c.limiter.Begin(ctx)
	if err == nil {
		// After the limiter: requests that it held back would otherwise be sent together, and
		// exceed the quota of a minute.
		if err = c.quota.Wait(ctx, r.cost); err != nil {
			ticket.End(ratelimit.Outcome{Unknown: true})
		}
	}
	if err != nil {
		e := c.newError(r)
		e.Err, e.resend = err, true
		e.class, _ = retry.Classify(err)
		return e
	}
	quiet := c.idleTimeout
	if !r.billable {
		quiet = min(quiet, plainTimeout)
	}
	watched, dog := outbound.Watch(ctx, quiet)
	kept := false
	defer func() {
		if !kept {
			dog.Stop()
		}
	}()
	s := &sending{dog: dog}
	resp, err := c.send(watched, r, path, secret, s)
	if err == nil {
		err = c.refusal(r, resp)
	}
	ticket.End(outcome(ctx, err))
	if err != nil {
		return err
	}
	kept, err = take(&reply{resp, dog, watched})
	if !kept {
		outbound.Drain(resp.Body)
	}
	return err
}

// send sends the HTTP request.
func (c *Client) send(ctx context.Context, r *request, path, secret string, s *sending) (*http.Response, error) {
	rawURL := c.base.String() + path
	if len(r.query) > 0 {
		rawURL += "?" + r.query.Encode()
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.begun.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), c.routes[r.endpoint].Method, rawURL, nil)
	if err != nil {
		return nil, c.sendError(ctx, r, s, err)
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", r.body.contentType)
		req.ContentLength = r.body.length
		req.GetBody = func() (io.ReadCloser, error) { return s.open(r.body) }
		if req.Body, err = req.GetBody(); err != nil {
			return nil, c.sendError(ctx, r, s, err)
		}
	}
	s.dog.Alive()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, c.sendError(ctx, r, s, err)
	}
	s.dog.Alive()
	return resp, nil
}

// A sending records the progress of a request.
type sending struct {
	dog   *outbound.Watchdog
	begun atomic.Bool                  // there was a connection, or the transport opened the body
	cause atomic.Pointer[contentError] // why the body could not be read; transports hide this
}

// open opens a body. Each read of it counts as progress.
func (s *sending) open(p *payload) (io.ReadCloser, error) {
	content, err := p.open()
	if err != nil {
		return nil, &contentError{err}
	}
	return &sentBody{content, s}, nil
}

type sentBody struct {
	content io.ReadCloser
	sending *sending
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	if n > 0 {
		b.sending.begun.Store(true)
		b.sending.dog.Alive()
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	failure := &contentError{err}
	b.sending.cause.Store(failure)
	return n, failure
}

func (b *sentBody) Close() error { return b.content.Close() }

// A contentError reports that the content to send could not be read: the cause is local.
type contentError struct{ err error }

func (e *contentError) Error() string { return "read content: " + e.err.Error() }
func (e *contentError) Unwrap() error { return e.err }
