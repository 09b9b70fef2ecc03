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

// maxOdds is how often in a row the same answer may come that is not what was asked for.
const maxOdds = 3

// A fetch connects to content at a server.
type fetch struct {
	ctx    context.Context
	source *Source
	entry  entry
	size   int64
	tag    string      // of the version that is read; empty if it is not known
	header http.Header // of the last answer

	odd  string // the answer that was not what was asked for last
	odds int    // how often it came
}

// fetch begins to read content at an offset, and adds to a description what the answer says.
func (s *Source) fetch(ctx context.Context, e entry, o sources.Object, offset int64, d *sources.Description) (io.ReadCloser, error) {
	f := &fetch{ctx: ctx, source: s, entry: e, size: o.Size}
	if s.asks(e) {
		f.tag = o.VersionTag // what the table calls a version the server does not know
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

// connect asks for the content from the next byte on. It is never asked for nothing, which
// cannot be expressed, but then for the last byte once more.
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
	if _, err := io.CopyN(io.Discard, body, next-from); err != nil { // the server has begun before
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
	switch { // a weak tag matches nothing
	case f.tag == "" || strings.HasPrefix(f.tag, "W/"):
	case dated == nil:
		r.Header.Set("If-Unmodified-Since", f.tag)
	default:
		r.Header.Set("If-Match", `"`+f.tag+`"`)
	}
	return r, nil
}

// check makes sure that an answer is of the listed version, because not every server minds
// a condition, and tells where it begins: not every server minds a range either.
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
			return 0, &remote.Cut{Err: odd(f.entry.url, "the server was asked for the content from byte %d on and gives another part", from)}
		}
		begin, size = first, total
	}
	if size >= 0 && size != f.size {
		return 0, &remote.Cut{Err: odd(f.entry.url, "the server has %d bytes, %d are listed", size, f.size)}
	}
	return begin, nil
}

func (f *fetch) tooLong() error {
	return odd(f.entry.url, "the server sends more than the %d bytes that are listed", f.size)
}

// meant takes an answer that is not what was asked for, and that another try may get right,
// for what the server means once it came again and again.
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

// isMeant reports whether an answer that is not what was asked for is no accident: the
// server returns the same one again and again.
func (f *fetch) isMeant(answer error) bool {
	if text := answer.Error(); text != f.odd {
		f.odd, f.odds = text, 0
	}
	f.odds++
	return f.odds == maxOdds
}
