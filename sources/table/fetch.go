package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/sourcehttp"
	"assetferry/sources"
)

const (
	// stallTimeout is how long a body may stand still before it counts as cut off.
	stallTimeout = time.Minute
	// mostCuts and cutPause are the bounds of cuts: servers of other people break off often,
	// and are up again at once.
	mostCuts = 8
	cutPause = 10 * time.Millisecond
	// maxOdds is how often in a row the same answer may come that is not what was asked
	// for.
	maxOdds = 3
)

var errStalled = errors.New("no byte moved for too long")

// A fetch reads content from a server, over as many connections as that takes.
type fetch struct {
	ctx    context.Context
	source *Source
	entry  entry
	size   int64
	next   int64       // the offset of the next byte
	tag    string      // of the version that is read; empty if it is not known
	header http.Header // of the first answer

	body     io.ReadCloser // nil if it was cut off
	cancel   context.CancelCauseFunc
	watchdog *time.Timer

	cut  error // why there is no body
	cuts retry.Cuts
	odd  string // the answer that was not what was asked for last
	odds int    // how often it came
}

// fetch begins to read content at an offset, and adds to a description what the answer says.
func (s *Source) fetch(ctx context.Context, e entry, o sources.Object, offset int64, d *sources.Description) (io.ReadCloser, error) {
	f := &fetch{ctx: ctx, source: s, entry: e, size: o.Size, next: offset, cuts: retry.CutsFrom(offset)}
	f.cuts.Most, f.cuts.Pause = mostCuts, cutPause
	if s.asks(e) {
		f.tag = o.VersionTag // what the table calls a version the server does not know
	}
	for {
		err := f.connect()
		if err == nil {
			break
		}
		if !worthAnother(err) {
			return nil, err
		}
		if err := f.pause(err); err != nil {
			return nil, err
		}
	}
	if d.ContentType == "" {
		d.ContentType = factsOf(&http.Response{Header: f.header}).contentType
	}
	return f, nil
}

// connect asks for the content from the next byte on. It is never asked for nothing, which
// cannot be expressed, but then for the last byte once more.
func (f *fetch) connect() error {
	from := min(f.next, max(f.size-1, 0))
	ctx, cancel := context.WithCancelCause(f.ctx)
	var body io.ReadCloser
	err := f.source.do(ctx, func(ctx context.Context) (*http.Request, error) { return f.request(ctx, from) }, func(answer *http.Response) error {
		begin, err := f.check(answer, from)
		if err != nil {
			return retry.Stop(err)
		}
		body, from, f.header = answer.Body, begin, answer.Header
		return nil
	})
	if err != nil {
		cancel(nil)
		return err
	}
	f.body, f.cancel = body, cancel
	f.watchdog = time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	if f.tag == "" {
		f.tag = tagIn(f.header)
	}
	for f.next > from { // the server has begun before
		n, err := f.receive(make([]byte, min(f.next-from, 32<<10)))
		if from += int64(n); err != nil && from < f.next {
			f.disconnect()
			return &againError{err}
		}
	}
	f.watchdog.Stop()
	return nil
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
		first, total, ok := sourcehttp.ParseRange(answer.Header.Get("Content-Range"))
		if !ok || first != from {
			return 0, &againError{odd(f.entry.url, "the server was asked for the content from byte %d on and gives another part", from)}
		}
		begin, size = first, total
	}
	if size >= 0 && size != f.size {
		return 0, &againError{odd(f.entry.url, "the server has %d bytes, %d are listed", size, f.size)}
	}
	return begin, nil
}

// Read reads some bytes; at the end it makes sure that there are no more.
func (f *fetch) Read(p []byte) (int, error) {
	for {
		left := f.size - f.next
		if f.body == nil {
			if err := f.resume(); err != nil {
				return 0, err
			}
		}
		if left == 0 {
			return 0, f.finish()
		}
		n, err := f.receive(p[:min(int64(len(p)), left)])
		f.next += int64(n)
		if err == nil || int64(n) == left {
			return n, nil // finish tells
		}
		f.disconnect()
		if f.cut = err; err == io.EOF {
			f.cut = io.ErrUnexpectedEOF
		}
		if n > 0 {
			return n, nil
		}
	}
}

// finish wants the body to end. A connection that breaks off after the last byte has
// brought all there is.
func (f *fetch) finish() error {
	var more [1]byte
	if n, _ := f.receive(more[:]); n > 0 {
		return odd(f.entry.url, "the server sends more than the %d bytes that are listed", f.size)
	}
	return io.EOF
}

// receive reads from the connection that there is, under the eyes of the watchdog.
func (f *fetch) receive(p []byte) (int, error) {
	f.watchdog.Reset(stallTimeout)
	n, err := f.body.Read(p)
	f.watchdog.Stop()
	return n, err
}

// resume takes up a body that was cut off, unless that happens again and again.
func (f *fetch) resume() error {
	for why := f.cut; ; {
		if err := f.pause(why); err != nil {
			return err
		}
		err := f.connect()
		if err == nil || !worthAnother(err) {
			return err
		}
		why = err
	}
}

// pause waits a little after a cut.
func (f *fetch) pause(why error) error {
	if again, ok := why.(*againError); ok {
		why = again.error
	}
	if answer, odd := errors.AsType[*failure](why); odd && f.isMeant(answer) {
		if f.source.asks(f.entry) {
			return fmt.Errorf("%w: %w", sources.ErrChanged, answer)
		}
		return answer
	}
	return f.cuts.Again(f.ctx, f.next, f.size, why)
}

// isMeant reports whether an answer that is not what was asked for is no accident: the
// server gives the same one again and again.
func (f *fetch) isMeant(answer *failure) bool {
	if text := answer.Error(); text != f.odd {
		f.odd, f.odds = text, 0
	}
	f.odds++
	return f.odds == maxOdds
}

// An againError says that something came that another try may get right.
type againError struct{ error }

func worthAnother(err error) bool {
	_, ok := err.(*againError)
	return ok
}

func (f *fetch) disconnect() {
	if f.body == nil {
		return
	}
	f.watchdog.Stop()
	f.cancel(nil)
	_ = f.body.Close() // of something that was read
	f.body = nil
}

func (f *fetch) Close() error {
	f.disconnect()
	return nil
}
