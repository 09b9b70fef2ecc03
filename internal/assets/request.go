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

// A request says what to ask of the service and what to make of the answer.
type request struct {
	op      string // what we do, for people
	subject string // to what, for people; may be empty
	method  string
	route   string // the pattern, which logs can count by
	path    string // the escaped path; the route if empty
	query   url.Values
	body    *payload // nil if there is none

	// creates says that carrying the request out twice makes a second thing.
	creates bool
	// once says that it is not sent again, whatever comes of it.
	once bool
	into answer // where a successful answer goes
}

// An answer is a value that a JSON document is decoded into, and that says
// whether it is what it should be.
type answer interface{ check() error }

// A payload is the body of a request that can be had several times.
type payload struct {
	contentType string
	length      int64
	// decisive is the number of bytes with which a server might be content,
	// although more are announced.
	decisive int64
	open     func(context.Context) (io.ReadCloser, error)
	// bandwidth bounds how fast it is sent; nil is no bound.
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

// do carries a request out, repeating it where that is safe.
func (c *Client) do(ctx context.Context, r *request) error {
	if err := r.checkPath(); err != nil {
		return err
	}
	return c.policy.Do(ctx, c.onWait, func(ctx context.Context) error {
		return r.stopUnsafe(c.authorized(ctx, r, c.exchange))
	})
}

// checkPath refuses an ID that makes the path that of something else: whoever is on
// the way resolves dots and may drop empty parts, and then an asset without an ID is
// replaced by uploading one, and a folder called ".." deleted with what it is in.
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

// stopUnsafe keeps a request that creates something from being repeated unless
// it certainly did not: it was refused for its rate, or no byte of it was
// written. One that is meant for once is not repeated at all. A body that failed at its source is not for us to repeat either.
func (r *request) stopUnsafe(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || r.once || r.creates && !e.resend || isBodyError(e.Err) {
		return retry.Stop(err)
	}
	return err
}

// authorized calls send with a token, and once more with a new token if that is
// worth it. A 401 is definite, so that holds for requests that create, too.
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

// exchange sends a request once and takes its answer in.
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

// build makes the HTTP request, whose progress s follows.
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
	// net/http asks for another body only if nothing of this one was written
	// or the server promised not to have looked at it.
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

// A sending knows how far a request got.
type sending struct {
	dog   *outbound.Watchdog
	now   func() time.Time
	start time.Time

	thought time.Duration // how long the service took for the head of its answer, once it had the request

	connected atomic.Bool
	touched   atomic.Bool // a byte of a body was handed out
	body      atomic.Pointer[trackedBody]
}

// trace follows a request to the base URL.
func (c *Client) trace(s *sending) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		s.connected.Store(true)
		c.delivery.home.learn(got.Conn)
	}}
}

func (s *sending) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.connected.Store(true) }}
}

// sent is the time from which the server had the request: a body may take long.
func (s *sending) sent() time.Time {
	if body := s.body.Load(); body != nil {
		return body.sent()
	}
	return s.start
}

// untouched reports that no byte of the request can have been written. Both
// signs are needed: not every transport reports its connections.
func (s *sending) untouched() bool { return !s.connected.Load() && !s.touched.Load() }

// finish stops the body where it is, and reports whether all that a server needs
// of it was handed to the transport.
//
// This decides between failed and in doubt. The request announces its length, so
// a server cannot take a body for complete whose end it has not seen; and the
// transport cannot have sent what it was not given. That holds for good, since
// after finish the body yields nothing more.
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
