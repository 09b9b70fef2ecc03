package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
)

// A request is a call of the service, with the target of its answer.
type request struct {
	op      string // operation, for people
	subject string // object, for people; may be empty
	method  string
	route   string // pattern, for the log
	path    string // escaped path; empty: the route
	query   url.Values
	body    *payload // nil without a body

	// creates means that executing the request twice would create a second object.
	creates bool
	// once means that the request is never repeated.
	once bool
	into answer // target of a successful answer
}

// An answer is the target of a JSON document, which checks its own validity.
type answer interface{ check() error }

// A payload is the body of a request. It can be opened several times.
type payload struct {
	contentType string
	length      int64
	// decisive is the number of bytes that may be enough for a server to accept the body, although
	// more are announced.
	decisive int64
	open     func(context.Context) (io.ReadCloser, error)
	// bandwidth limits the upload rate; nil means no limit.
	bandwidth *ratelimit.Bandwidth
}

func jsonPayload(value any) *payload {
	data, err := json.Marshal(value)
	size := int64(len(data))
	return &payload{
		contentType: "application/json", length: size, decisive: size,
		open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), err
		},
	}
}

// do sends a request, and repeats it if that is safe.
func (c *Client) do(ctx context.Context, r *request) error {
	if err := r.checkPath(); err != nil {
		return err
	}
	return c.policy.Do(ctx, c.onWait, func(ctx context.Context) error {
		return r.stopUnsafe(c.authorized(ctx, r, c.exchange))
	})
}

// checkPath refuses an ID that would turn the path into that of another object. Proxies may resolve
// dots and drop empty parts: then a replacement of an asset without an ID would upload a new one,
// and deleting a folder ".." would delete its parent.
func (r *request) checkPath() error {
	if r.path == "" {
		return nil
	}
	for part := range strings.SplitSeq(r.path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%s: %q is not an ID", r.op, part)
		}
	}
	return nil
}

// stopUnsafe prevents the repetition of a creating request unless it certainly was not executed: it
// was refused by the rate limit, or no byte of it was written. A request with once is never
// repeated. The same holds for a body that its source could not read.
func (r *request) stopUnsafe(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || r.once || r.creates && !e.resend || isBodyError(e.Err) {
		return retry.Stop(err)
	}
	return err
}

// authorized calls send with a token, and again with a new token if that may help. A 401 is
// definite, so this includes creating requests.
func (c *Client) authorized(ctx context.Context, r *request, send func(context.Context, *request, string) error) error {
	credential := c.credentials.to(r.route)
	for second := false; ; second = true {
		token, err := credential.use(ctx, c.now())
		if err != nil {
			return c.tokenError(ctx, r, err)
		}
		err = send(ctx, r, token.secret)
		e, ok := errors.AsType[*Error](err)
		if second || !ok || e.Status != http.StatusUnauthorized || e.Unconfirmed || !credential.renew(ctx, token, c.now(), c.followServer) {
			return err
		}
	}
}

// exchange sends a request once and reads its answer.
func (c *Client) exchange(ctx context.Context, r *request, secret string) error {
	s := &sending{now: c.now}
	return c.rateLimited(ctx, r, s, func() error {
		ctx, dog := outbound.Watch(ctx, stallTimeout)
		defer dog.Stop()
		s.dog = dog
		req, err := c.build(ctx, r, s)
		if err != nil {
			return c.sendError(ctx, r, s, err)
		}
		req.Header.Set("Authorization", secret)
		resp, err := c.transport.RoundTrip(req)
		if err != nil {
			return c.sendError(ctx, r, s, err)
		}
		return c.receive(ctx, r, s, resp)
	})
}

// build returns the HTTP request; s records its progress.
func (c *Client) build(ctx context.Context, r *request, s *sending) (*http.Request, error) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, c.trace(s)), r.method, c.requestURL(r), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if r.body == nil {
		return req, nil
	}
	req.Header.Set("Content-Type", r.body.contentType)
	req.ContentLength = r.body.length
	// net/http requests another body only if no byte of this one was written, or if the server
	// guaranteed that it did not process the request.
	req.GetBody = func() (io.ReadCloser, error) { return s.open(ctx, r.body) }
	req.Body, err = req.GetBody()
	return req, err
}

func (c *Client) requestURL(r *request) string {
	path := r.path
	if path == "" {
		path = r.route
	}
	rawURL := c.base.String() + path
	if len(r.query) > 0 {
		rawURL += "?" + r.query.Encode()
	}
	return rawURL
}

// A sending records the progress of a request.
type sending struct {
	dog   *outbound.Watchdog
	now   func() time.Time
	start time.Time

	thought time.Duration // time between the complete request and the header of its answer

	connected atomic.Bool
	touched   atomic.Bool // the transport has read a byte of a body
	body      atomic.Pointer[trackedBody]
}

// trace records the progress of a request to the base URL.
func (c *Client) trace(s *sending) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		s.connected.Store(true)
		c.delivery.home.learn(got.Conn)
		if conn, ok := got.Conn.(*bodyConn); ok && s.body.Load() != nil {
			conn.expectBody()
		}
	}}
}

func (s *sending) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.connected.Store(true) }}
}

// sent returns the time when the server had the request: a body may take long.
func (s *sending) sent() time.Time {
	if body := s.body.Load(); body != nil {
		return body.sent()
	}
	return s.start
}

// untouched reports that certainly no byte of the request was written. It needs both signs, because
// some transports do not report connections.
func (s *sending) untouched() bool { return !s.connected.Load() && !s.touched.Load() }

// finish ends the body at its position, and reports whether the transport has received all bytes
// that a server needs.
//
// This decides between failed and unconfirmed. The request announces its length, so a server does
// not accept a body without its end, and the transport cannot send bytes that it did not receive.
// The result is final, because a finished body returns no more bytes.
func (s *sending) finish() (complete bool) {
	body := s.body.Load()
	return body != nil && body.finish()
}

func (s *sending) bodyError() error {
	if body := s.body.Load(); body != nil {
		return body.failure()
	}
	return nil
}
