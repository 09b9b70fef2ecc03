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

// A Public is what anybody gets at a URL.
type Public struct {
	Status int
	Size   int64 // of all of the content, -1 if nobody says
}

// IsThere reports whether there is something to be had.
func (p Public) IsThere() bool { return p.Status >= 200 && p.Status < 300 }

// Public asks a URL for what it has, as anybody could: without token or cookie. It
// asks for the head and, where that is refused or does not say the size, for one byte.
// Only where nobody answers is there an error.
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

// refusesHead reports whether an answer may be about the method rather than about what
// is at the URL.
func refusesHead(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500 || status == http.StatusNotImplemented
}

// peek asks by one method, several times if that may help.
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
		return found, nil // that is what anybody gets
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
	req.Header.Set("Accept-Encoding", "identity") // lengths are those of the content
	if r.method == http.MethodGet {
		req.Header.Set("Range", "bytes=0-0")
	}
	resp, err := c.anonymous.Do(req)
	if err != nil {
		return c.sendError(ctx, r, s, err)
	}
	defer resp.Body.Close() // what is left is not read: it may be a lot
	if outbound.Origin(resp.Request.URL) == outbound.Origin(c.base) {
		c.observe(resp, s)
	}
	*found = seen(resp)
	if !found.IsThere() {
		return c.fault(r, resp, fault{})
	}
	return nil
}

// seen reads the status and the size from the head of an answer.
func seen(resp *http.Response) Public {
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		size = -1
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent:
		return Public{resp.StatusCode, size}
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && size == 0: // of nothing there is no first byte
		return Public{http.StatusOK, 0}
	}
	return Public{resp.StatusCode, resp.ContentLength}
}
