package remote

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"assetferry/internal/retry"
)

// StallTimeout is the time without a byte after which content counts as interrupted.
const StallTimeout = time.Minute

// ErrStalled means that the transfer of a response stopped.
var ErrStalled = errors.New("the transfer stalled")

// A Body is the body of one response, watched by a watchdog.
type Body struct {
	body     io.ReadCloser
	cancel   context.CancelCauseFunc
	watchdog *time.Timer
}

// Watch returns the body of a response; cancel ends its request. The watchdog runs only during Read.
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

// Close ends the request without reading the rest.
func (b *Body) Close() {
	b.watchdog.Stop()
	b.cancel(nil)
	_ = b.body.Close() // opened for reading
}

// Content has the operations of a Reader for an object.
type Content struct {
	Size int64 // as listed
	// Connect requests the content from the offset next on. next is at most the size; a request at
	// the end must ask for the last byte. Only a *Cut is retried.
	Connect func(next int64) (*Body, error)
	// TooLong is the error for a server that sends more than the listed size.
	TooLong func() error
	// Fail converts the errors of Read; nil keeps them.
	Fail func(error) error
	// EndCounts means that content is complete only when the connection ends without an error,
	// because checksums are compared then. Otherwise the last byte is enough.
	EndCounts bool
	// Flaky allows more interruptions with shorter pauses, for servers of third parties.
	Flaky bool
}

const (
	flakyCuts  = 8
	flakyPause = 10 * time.Millisecond
)

// A Cut is an error that a new connection may avoid. It counts as an interruption.
type Cut struct{ Err error }

func (c *Cut) Error() string { return c.Err.Error() }
func (c *Cut) Unwrap() error { return c.Err }

// A Reader reads one object to its listed size, over several connections if needed.
type Reader struct {
	ctx     context.Context
	content Content
	next    int64 // the offset of the next byte
	err     error // sticky

	body *Body // nil after an interruption
	cut  error // the reason of the interruption
	cuts retry.Cuts
}

// Open requests content from an offset.
func Open(ctx context.Context, c Content, offset int64) (*Reader, error) {
	r := &Reader{ctx: ctx, content: c, next: offset, cuts: retry.CutsFrom(offset)}
	if c.Flaky {
		r.cuts.Most, r.cuts.Pause = flakyCuts, flakyPause
	}
	return r, r.connect()
}

// connect requests the content from the next byte on, and retries after a Cut.
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

// resume continues after an interruption, up to a limit.
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

// read reads some bytes. At the end, it checks that there are no more.
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
			return n, nil // finish returns the error
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

// finish checks that the content ends at its listed size.
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
	return io.EOF // all bytes were read, however the connection ended
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
