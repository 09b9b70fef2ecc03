package assets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// Download reads the content at the URL of an asset from an offset. The size is that of the
// complete content, or -1 if unknown. A body that ends early returns io.ErrUnexpectedEOF. If
// the connection is closed and there is a strong ETag, reading continues automatically, or
// returns ErrChanged if the content was replaced.
//
// The token is only sent to the origin of the service, because other hosts may deliver content.
// A refused request may be for a private category: it is repeated with the cookie of
// [Client.AuthorizePrivateAccess], if that host may receive it.
func (c *Client) Download(ctx context.Context, rawURL string, offset int64) (io.ReadCloser, int64, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || offset < 0 {
		return nil, 0, errors.New("download: the URL is not absolute, or the offset is negative")
	}
	d := &download{c: c, ctx: ctx, url: u, at: offset}
	if err := c.delivery.check(u); err != nil {
		return nil, 0, c.refused(d.request(), u, err)
	}
	if err := d.open(); err != nil {
		return nil, 0, err
	}
	return d, d.size, nil
}

// A download is a body with its position.
type download struct {
	c   *Client
	ctx context.Context // of the caller, for later requests
	url *url.URL

	at   int64
	size int64  // -1 if unknown
	etag string // strong, or ""
	cuts int    // interruptions in a row
	err  error  // final

	body io.ReadCloser
	dog  *outbound.Watchdog
}

func (d *download) request() *request {
	return &request{
		op: "download", subject: outbound.Origin(d.url) + d.url.EscapedPath(),
		method: http.MethodGet, route: "(asset url)",
	}
}

// open requests the content from the current position.
func (d *download) open() error {
	had := d.c.private.standsFor()
	err := d.try()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden {
		return err
	}
	again, aerr := d.c.openPrivate(d.ctx, d.url, had)
	if class, _ := retry.Classify(aerr); aerr != nil && (class.Repeatable() || d.ctx.Err() != nil) {
		return aerr // the first error is more specific
	}
	if !again {
		return err
	}
	return d.try()
}

// try requests with the credentials that currently permit files.
func (d *download) try() error {
	r := d.request()
	return d.c.policy.Do(d.ctx, d.c.onWait, func(ctx context.Context) error {
		if !d.c.delivery.isOwn(d.url) {
			return d.exchange(ctx, r, "")
		}
		return d.c.authorized(ctx, r, d.exchange)
	})
}

// exchange sends one request. The rate limiter is for the service, not for other delivery
// hosts. The request ends with the header of its response, so that slow readers block no other
// request.
func (d *download) exchange(ctx context.Context, r *request, secret string) error {
	s := &sending{now: d.c.now, start: d.c.now()}
	if outbound.Origin(d.url) != outbound.Origin(d.c.base) {
		return d.ask(ctx, r, s, secret)
	}
	return d.c.rateLimited(ctx, r, s, func() error { return d.ask(ctx, r, s, secret) })
}

func (d *download) ask(ctx context.Context, r *request, s *sending, secret string) error {
	ctx, dog := outbound.Watch(ctx, stallTimeout)
	s.dog = dog
	resp, err := d.get(httptrace.WithClientTrace(ctx, s.trace()), secret)
	if err != nil {
		err = d.c.sendError(ctx, r, s, err) // before the watchdog ends the context
		dog.Stop()
		return d.foreign(err)
	}
	if outbound.Origin(resp.Request.URL) == outbound.Origin(d.c.base) {
		d.c.observe(resp, s)
	}
	dog.Alive() // skipping to the offset may take long
	if err = d.accept(r, resp); err != nil {
		outbound.Drain(resp.Body) // a slow body
		dog.Stop()
		return d.foreign(err)
	}
	dog.Rest()
	d.body, d.dog = resp.Body, dog
	return nil
}

func (d *download) get(ctx context.Context, secret string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", d.c.userAgent)
	req.Header.Set("Accept-Encoding", "identity") // lengths refer to the content
	if secret != "" {
		req.Header.Set("Authorization", secret)
	}
	if d.at > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(d.at, 10)+"-")
	}
	if d.at > 0 && d.etag != "" {
		req.Header.Set("If-Range", d.etag)
	}
	return d.c.files.Do(req)
}

// foreign adapts errors of other delivery hosts: a 403 concerns this asset only, and no error
// concerns the token.
func (d *download) foreign(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || outbound.Origin(d.url) == outbound.Origin(d.c.base) {
		return err
	}
	e.where, e.Skew = outbound.Origin(d.url), 0
	if e.class == retry.Fatal && e.Err == nil {
		e.class = retry.Permanent
	}
	return e
}

// accept checks the header of a response and moves its body to the offset.
func (d *download) accept(r *request, resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusOK:
		return d.acceptWhole(r, resp)
	case resp.StatusCode == http.StatusPartialContent && d.at > 0:
		return d.acceptPart(r, resp)
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && d.isAtEnd(resp):
		resp.Body = http.NoBody
		return nil
	case resp.StatusCode < 300:
		return d.c.unreadable(r, resp, errors.New("not the content"))
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFault))
	return d.c.fault(r, resp, parseFault(body))
}

// acceptWhole accepts a complete response: to the first request, without support for ranges, or
// with changed content.
func (d *download) acceptWhole(r *request, resp *http.Response) error {
	tag := strongTag(resp)
	if d.etag != "" && tag != d.etag {
		return d.changed(r)
	}
	d.etag, d.size = tag, resp.ContentLength
	if d.at == 0 {
		return nil
	}
	if _, err := io.CopyN(io.Discard, resp.Body, d.at); err != nil {
		return d.c.unreadable(r, resp, fmt.Errorf("skip to offset %d: %w", d.at, noEOF(err)))
	}
	return nil
}

func (d *download) acceptPart(r *request, resp *http.Response) error {
	start, size, ok := parseContentRange(resp.Header.Get("Content-Range"))
	tag := strongTag(resp)
	switch {
	case !ok || start != d.at:
		return d.c.unreadable(r, resp, errors.New("the response has a different range"))
	case d.etag != "" && (tag != d.etag || size != d.size):
		return d.changed(r)
	}
	d.etag, d.size = tag, size
	return nil
}

// isAtEnd reports that the range does not exist because everything was read.
func (d *download) isAtEnd(resp *http.Response) bool {
	size, err := strconv.ParseInt(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes */"), 10, 64)
	if err != nil || size != d.at {
		return false
	}
	d.size = size
	return true
}

func (d *download) changed(r *request) error {
	e := d.c.newError(r)
	e.Err, e.class = ErrChanged, retry.Permanent
	return e
}

func (d *download) Read(p []byte) (int, error) {
	for {
		if d.err != nil {
			return 0, d.err
		}
		d.dog.Alive()
		n, err := d.body.Read(p)
		d.dog.Rest() // the caller may be slow between reads
		d.at += int64(n)
		if n > 0 {
			d.cuts = 0
		}
		if err == nil || err == io.EOF && (d.size < 0 || d.at == d.size) {
			return n, err
		}
		if n > 0 {
			return n, nil // the error is returned by the next read
		}
		d.err = d.goOn(noEOF(err))
	}
}

// goOn reopens the content after an interruption, if it is certain to be the same.
func (d *download) goOn(cut error) error {
	stalled, isStall := errors.AsType[outbound.StallError](cut)
	d.release()
	if d.ctx.Err() != nil {
		cut = outbound.ContextError(d.ctx)
	} else if d.cuts++; d.etag != "" && d.size >= 0 && d.at < d.size && d.cuts < cmp.Or(d.c.policy.Attempts, 3) {
		return d.open()
	}
	if isStall {
		cut = fmt.Errorf("%w: %w", stalled, io.ErrUnexpectedEOF)
	}
	e := d.c.newError(d.request())
	e.Err, e.class = outbound.WithoutURL(cut), retry.Transient
	return d.foreign(e)
}

func (d *download) release() {
	_ = d.body.Close()
	d.dog.Stop()
}

// Close ends the download without reading the rest.
func (d *download) Close() error {
	d.release()
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// strongTag returns the ETag if it is strong.
func strongTag(resp *http.Response) string {
	if tag := resp.Header.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return ""
}

// parseContentRange parses "bytes 5-9/10".
func parseContentRange(s string) (start, size int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(s, "/")
	first, last, ok3 := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	end, err2 := strconv.ParseInt(last, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	ok = ok && ok2 && ok3 && err == nil && err2 == nil && err3 == nil && start >= 0 && end == size-1 && start <= end
	return start, size, ok
}
