package assets

import (
	"bytes"
	"context"
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

// A Question is a request whose raw response is inspected, to find out what a service does.
type Question struct {
	Op     string // for errors, such as "ask for a page"
	Method string
	URL    string // path with query relative to the base URL, or a complete URL
	Header http.Header
	Body   []byte
	Scheme string // before the token, such as "Bearer "; normally ""
}

// A Reply is a raw response.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte        // shortened if long
	Took   time.Duration // from sending to the last byte
}

// Ask sends a request once, without rate limit and without following redirects. An error status
// is no error. The token is only sent to the origin of the service.
func (c *Client) Ask(ctx context.Context, q Question) (Reply, error) {
	r := &request{op: q.Op, method: q.Method, route: q.URL, creates: q.Method == http.MethodPost}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, outbound.StallError{After: answerTimeout, Total: true})
	defer cancel()
	req, err := c.question(ctx, q)
	if errors.Is(err, ErrRefused) {
		e := c.newError(r)
		e.Err, e.class = err, retry.Permanent
		return Reply{}, e
	}
	if err != nil {
		return Reply{}, c.tokenError(ctx, r, err)
	}
	s := &sending{now: c.now, start: c.now()}
	resp, err := c.delivery.RoundTrip(req)
	if err != nil {
		return Reply{}, c.sendError(ctx, r, s, err)
	}
	defer outbound.Drain(resp.Body)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFault))
	if err != nil {
		return Reply{}, c.unreadable(r, resp, err)
	}
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: body, Took: c.now().Sub(s.start)}, nil
}

func (c *Client) question(ctx context.Context, q Question) (*http.Request, error) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	if u.Host == "" {
		if u, err = url.Parse(c.base.String() + q.URL); err != nil {
			return nil, errors.New("invalid path")
		}
	}
	if err := c.delivery.check(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, u.String(), bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	if q.Header != nil {
		req.Header = q.Header.Clone()
	}
	req.Header.Set("User-Agent", c.userAgent)
	if !c.delivery.isOwn(u) {
		return req, nil
	}
	secret, err := c.credentials.to(strings.TrimPrefix(u.Path, c.base.Path)).token(ctx, c.now())
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	req.Header.Set("Authorization", q.Scheme+secret)
	return req, nil
}

// InWorkspace returns the URL of a route with a query of key-value pairs and the workspace of
// the client.
func (c *Client) InWorkspace(route string, pairs ...string) string {
	if query := c.inWorkspace(pairs...).Encode(); query != "" {
		return route + "?" + query
	}
	return route
}
