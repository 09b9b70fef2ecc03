package remote

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"assetferry/internal/retry"
)

// StallTimeout is how long content may stand still before it counts as cut off.
const StallTimeout = time.Minute

// ErrStalled says that an answer does not come to its end.
var ErrStalled = errors.New("no byte moved for too long")

// A Body is what one connection delivers, read under the eyes of a watchdog.
type Body struct {
	body     io.ReadCloser
	cancel   context.CancelCauseFunc
	watchdog *time.Timer
}

// Watch returns the body of an answer to a request that cancel ends. The watchdog runs while
// something is read: who reads may take their time in between.
func Watch(body io.ReadCloser, cancel context.CancelCauseFunc) *Body {
	b := &Body{body, cancel, time.AfterFunc(StallTimeout, func() { cancel(ErrStalled) })}
	b.watchdog.Stop()
	return b
}

func (b *Body) Read(p []byte) (int, error) {
	b.watchdog.Reset(StallTimeout)
	n, err := b.body.Read(p)
	b.watchdog.Stop()
	return n, err
}

// Close ends the request, so that nothing is read for the sake of the connection.
func (b *Body) Close() {
	b.watchdog.Stop()
	b.cancel(nil)
	_ = b.body.Close() // of something that was read
}

// Content says how a Reader gets at an object.
type Content struct {
	Size int64 // as listed
	// Connect asks for the content from the byte next on, and gives what begins there. It
	// is never called for more than the content has, but for its end, where a request has
	// to be for the last byte. A *Cut is tried again, other errors are not.
	Connect func(next int64) (*Body, error)
	// TooLong is the error for a server that sends more than is listed.
	TooLong func() error
	// Fail makes the errors of Read, nil leaves them as they are.
	Fail func(error) error
	// EndCounts says that content is not whole before its connection has ended well, where
	// checksums are compared then. Otherwise it is with its last byte.
	EndCounts bool
	// Flaky allows more cuts with shorter pauses: servers of other people break off often,
	// and are up again at once.
	Flaky bool
}

const (
	flakyCuts  = 8
	flakyPause = 10 * time.Millisecond
)

// A Cut says that a connection brought something that another one may get right. It counts
// like content that was cut off.
type Cut struct{ Err error }

func (c *Cut) Error() string { return c.Err.Error() }
func (c *Cut) Unwrap() error { return c.Err }

// A Reader reads one object to its listed size, over as many connections as that takes.
type Reader struct {
	ctx     context.Context
	content Content
	next    int64 // the offset of the next byte
	err     error // sticky

	body *Body // nil if it was cut off
	cut  error // why there is none
	cuts retry.Cuts
}

// Open connects to content at an offset.
func Open(ctx context.Context, c Content, offset int64) (*Reader, error) {
	r := &Reader{ctx: ctx, content: c, next: offset, cuts: retry.CutsFrom(offset)}
	if c.Flaky {
		r.cuts.Most, r.cuts.Pause = flakyCuts, flakyPause
	}
	return r, r.connect()
}

// connect asks for the content from the next byte on, and again after what counts as a cut.
func (r *Reader) connect() error {
	for {
		body, err := r.content.Connect(r.next)
		cut, again := errors.AsType[*Cut](err)
		switch {
		case err == nil:
			r.body = body
			return nil
		case !again:
			return err
		}
		if err := r.cuts.Again(r.ctx, r.next, r.content.Size, cut.Err); err != nil {
			return err
		}
	}
}

// resume takes up content that was cut off, unless that happens again and again.
func (r *Reader) resume() error {
	if err := r.cuts.Again(r.ctx, r.next, r.content.Size, r.cut); err != nil {
		return err
	}
	return r.connect()
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.read(p)
	r.next += int64(n)
	switch {
	case err == nil || err == io.EOF || r.content.Fail == nil:
		r.err = err
	case r.ctx.Err() != nil:
		r.err = context.Cause(r.ctx)
	default:
		r.err = r.content.Fail(err)
	}
	return n, r.err
}

// read reads some bytes; at the end it makes sure that there are no more.
func (r *Reader) read(p []byte) (int, error) {
	for {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		left := r.content.Size - r.next
		if left == 0 {
			return 0, r.finish()
		}
		if r.body == nil {
			if err := r.resume(); err != nil {
				return 0, err
			}
		}
		n, err := r.body.Read(p[:min(int64(len(p)), left)])
		switch {
		case err == nil, int64(n) == left && err == io.EOF:
			return n, nil // finish tells
		case int64(n) == left && r.content.EndCounts:
			return n, err
		}
		r.disconnect()
		if r.cut = err; err == io.EOF {
			r.cut = io.ErrUnexpectedEOF
		}
		if n > 0 {
			return n, nil
		}
	}
}

// finish wants the content to end where it was listed to end.
func (r *Reader) finish() error {
	if r.body == nil {
		return io.EOF
	}
	var more [1]byte
	n, err := r.body.Read(more[:])
	switch {
	case n > 0:
		return r.content.TooLong()
	case err == nil || r.content.EndCounts:
		return err
	}
	r.disconnect()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return io.EOF // whatever ended the connection: all bytes are there
}

func (r *Reader) disconnect() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	r.disconnect()
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return nil
}
