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

// maxTransient is how often something that went wrong on the way is tried. A refusal for the
// rate is tried for longer: that ends with the minute.
const maxTransient = 5

// A request says what to ask of the service.
type request struct {
	op       string // what we do, for people
	subject  string // to what, for people; may be empty
	endpoint Endpoint
	ids      []string // for the places in its path, in order
	query    url.Values
	body     *payload // nil if there is none
	accept   string   // "application/json" if empty

	billable bool         // each time it is carried out it costs, see ErrMayBeBilled
	creates  bool         // each time it is carried out it makes another thing that stays, see ErrUnconfirmed
	public   bool         // takes no token
	secrets  []string     // that are sent, and not shown where an answer repeats them
	most     int64        // bytes that are read of its answer; 0: maxAnswer
	cost     Cost         // what it takes of the limits
	onError  func(*Error) // is told of each try that failed; may be nil
}

// A payload is the body of a request, which can be had several times.
type payload struct {
	contentType string
	length      int64
	open        func() (io.ReadCloser, error)
}

// jsonPayload is a value in JSON. HTML in it stays as it is: escaped it would be far longer.
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

// A reply is a successful answer whose body has not been read.
type reply struct {
	*http.Response
	dog *outbound.Watchdog // over its body
	ctx context.Context    // the dog's
}

// do carries a request out, repeating it where that is safe, and has take make something of
// the answer. Take may keep the body; then it returns that it did.
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

// authorized sends a request with a token, and once more with a new one if the service does
// not take that. A 401 is definite, so that holds for calls that are billed, too.
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
			c.tokens.Invalidate() // unless somebody else has done so
		}
	}
}

// exchange sends a request once, when its turn comes, and takes its answer in.
func (c *Client) exchange(ctx context.Context, r *request, path, secret string, take func(*reply) (bool, error)) error {
	ticket, err := c.limiter.Begin(ctx)
	if err == nil {
		// Behind the limiter: what it held back would else leave in one go, and be more in a
		// minute than the budget allows.
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

// send makes the HTTP request.
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

// A sending knows how far a request got.
type sending struct {
	dog   *outbound.Watchdog
	begun atomic.Bool                  // there was a connection, or the transport asked for the body
	cause atomic.Pointer[contentError] // why the body could not be read; transports hide that
}

// open starts a body, each read of which is a sign of life.
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

// A contentError says that what was to be sent could not be read: the trouble is at our end.
type contentError struct{ err error }

func (e *contentError) Error() string { return "read content: " + e.err.Error() }
func (e *contentError) Unwrap() error { return e.err }
