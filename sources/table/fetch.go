package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// maxOdds is the number of identical invalid responses in a row before they count as intended.
const maxOdds = 3

// A fetch requests content from a server.
type fetch struct {
	ctx    context.Context
	source *Source
	entry  entry
	size   int64
	tag    string      // of the version being read, or ""
	header http.Header // of the last response

	odd  string // the last invalid response
	odds int    // how often it occurred
}

// fetch begins to read content at an offset, and adds metadata of the response to a description.
func (s *Source) fetch(ctx context.Context, e entry, o sources.Object, offset int64, d *sources.Description) (io.ReadCloser, error) {
	f := &fetch{ctx: ctx, source: s, entry: e, size: o.Size}
	if s.asks(e) {
		f.tag = o.VersionTag // the server does not know versions of the table
	}
	r, err := remote.Open(ctx, remote.Content{Size: o.Size, Connect: f.connect, TooLong: f.tooLong, Flaky: true}, offset)
	if err != nil {
		return nil, err
	}
	if d.ContentType == "" {
		d.ContentType = factsOf(&http.Response{Header: f.header}).contentType
	}
	return r, nil
}

// connect requests the content from the next byte on. An empty range cannot be requested, so at the
// end it requests the last byte again.
func (f *fetch) connect(next int64) (*remote.Body, error) {
	from := min(next, max(f.size-1, 0))
	ctx, cancel := context.WithCancelCause(f.ctx)
	var content io.ReadCloser
	err := f.source.do(ctx, func(ctx context.Context) (*http.Request, error) { return f.request(ctx, from) }, func(answer *http.Response) error {
		begin, err := f.check(answer, from)
		if err != nil {
			return retry.Stop(err)
		}
		content, from, f.header = answer.Body, begin, answer.Header
		return nil
	})
	if err != nil {
		cancel(nil)
		return nil, f.meant(err)
	}
	if f.tag == "" {
		f.tag = tagIn(f.header)
	}
	body := remote.Watch(content, cancel)
	if _, err := io.CopyN(io.Discard, body, next-from); err != nil { // the response begins earlier
		body.Close()
		return nil, &remote.Cut{Err: err}
	}
	return body, nil
}

func (f *fetch) request(ctx context.Context, from int64) (*http.Request, error) {
	r, err := request(ctx, http.MethodGet, f.entry)
	if err != nil {
		return nil, err
	}
	if from > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	_, dated := http.ParseTime(f.tag)
	switch { // a weak tag never matches
	case f.tag == "" || strings.HasPrefix(f.tag, "W/"):
	case dated == nil:
		r.Header.Set("If-Unmodified-Since", f.tag)
	default:
		r.Header.Set("If-Match", `"`+f.tag+`"`)
	}
	return r, nil
}

// check checks that a response has the listed version, and returns its offset. Some servers ignore
// conditions and ranges.
func (f *fetch) check(answer *http.Response, from int64) (begin int64, err error) {
	if err := checkContent(f.entry, answer); err != nil {
		return 0, err
	}
	if !isListed(answer.Header, f.tag) {
		return 0, sources.ErrChanged
	}
	size := answer.ContentLength
	if answer.StatusCode == http.StatusPartialContent {
		first, total, ok := remote.ParseRange(answer.Header.Get("Content-Range"))
		if !ok || first != from {
			return 0, &remote.Cut{Err: odd(f.entry.url, "the server returned another range than from byte %d on", from)}
		}
		begin, size = first, total
	}
	if size >= 0 && size != f.size {
		return 0, &remote.Cut{Err: odd(f.entry.url, "the server has %d bytes instead of the listed %d", size, f.size)}
	}
	return begin, nil
}

func (f *fetch) tooLong() error {
	return odd(f.entry.url, "the server sent more than the listed %d bytes", f.size)
}

// meant returns an invalid response as the final error if the server repeats it. Before that, it is
// retried.
func (f *fetch) meant(err error) error {
	cut, again := errors.AsType[*remote.Cut](err)
	if !again || !f.isMeant(cut.Err) {
		return err
	}
	if f.source.asks(f.entry) {
		return fmt.Errorf("%w: %w", sources.ErrChanged, cut.Err)
	}
	return cut.Err
}

// isMeant reports whether the server repeats the same invalid response.
func (f *fetch) isMeant(answer error) bool {
	if text := answer.Error(); text != f.odd {
		f.odd, f.odds = text, 0
	}
	f.odds++
	return f.odds == maxOdds
}
