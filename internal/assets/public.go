package assets

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"

	"assetferry/internal/outbound"
)

// A Public is the answer of a URL without credentials.
type Public struct {
	Status int
	Size   int64 // size of the complete content; -1 if unknown
}

// IsThere reports whether there is content.
func (p Public) IsThere() bool { return p.Status >= 200 && p.Status < 300 }

// Public requests a URL like the public, without token or cookie. It sends a HEAD request and, if
// that is refused or has no size, a GET request for one byte. It returns an error only without an
// answer.
func (c *Client) Public(ctx context.Context, rawURL string) (Public, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return Public{}, errors.New("check URL: the URL is not absolute")
	}
	r := request{op: "check URL", subject: outbound.Origin(u) + u.EscapedPath(), route: "(asset url)"}
	if err := c.delivery.check(u); err != nil {
		return Public{}, c.refused(&r, u, err)
	}
	found, err := c.peek(ctx, r, u, http.MethodHead)
	if err == nil && (found.IsThere() && found.Size < 0 || refusesHead(found.Status)) {
		found, err = c.peek(ctx, r, u, http.MethodGet)
	}
	return found, err
}

// refusesHead reports whether a status may concern the method rather than the URL.
func refusesHead(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500 || status == http.StatusNotImplemented
}

// peek sends a request with one method, and repeats it after transient errors.
func (c *Client) peek(ctx context.Context, asked request, u *url.URL, method string) (found Public, err error) {
	r := &asked
	r.method = method
	err = c.policy.Do(ctx, c.onWait, func(ctx context.Context) error {
		if outbound.Origin(u) != outbound.Origin(c.base) {
			return c.peekOnce(ctx, r, u, &sending{now: c.now, start: c.now()}, &found)
		}
		s := &sending{now: c.now}
		return c.rateLimited(ctx, r, s, func() error { return c.peekOnce(ctx, r, u, s, &found) })
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Status != 0 && e.Err == nil {
		return found, nil // the status is the result
	}
	return found, err
}

func (c *Client) peekOnce(ctx context.Context, r *request, u *url.URL, s *sending, found *Public) error {
	ctx, dog := outbound.Watch(ctx, stallTimeout)
	defer dog.Stop()
	s.dog = dog
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, s.trace()), r.method, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept-Encoding", "identity") // lengths refer to the content
	if r.method == http.MethodGet {
		req.Header.Set("Range", "bytes=0-0")
	}
	resp, err := c.anonymous.Do(req)
	if err != nil {
		return c.sendError(ctx, r, s, err)
	}
	defer resp.Body.Close() // the rest is not read, because it may be long
	if outbound.Origin(resp.Request.URL) == outbound.Origin(c.base) {
		c.observe(resp, s)
	}
	*found = seen(resp)
	if !found.IsThere() {
		return c.fault(r, resp, fault{})
	}
	return nil
}

// seen reads the status and the size from the header of an answer.
func seen(resp *http.Response) Public {
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		size = -1
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent:
		return Public{resp.StatusCode, size}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && size == 0: // an empty content has no first byte
		return Public{http.StatusOK, 0}
	}
	return Public{resp.StatusCode, resp.ContentLength}
}
