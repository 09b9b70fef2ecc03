package assets

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

var errAbandoned = errors.New("request is over")

// open starts a new body, which replaces the previous one.
func (s *sending) open(ctx context.Context, p *payload) (io.ReadCloser, error) {
	content, err := p.open(ctx)
	if err != nil {
		return nil, &BodyError{Op: "open", Err: err}
	}
	body := &trackedBody{content: p.bandwidth.Reader(ctx, content), sending: s, total: p.length, decisive: p.decisive}
	s.body.Store(body)
	return body, nil
}

// A trackedBody counts the bytes that the transport has read. The transport may read and close
// it from its own goroutines, even after the request. The content is closed once, and never
// during a read.
type trackedBody struct {
	content  io.ReadCloser
	sending  *sending
	total    int64
	decisive int64

	mu      sync.Mutex
	handed  int64     // final at the end of the body
	decided time.Time // time when the decisive byte was read
	err     error
	over    bool // no more bytes are returned
	reading bool // the transport is reading; the last one closes the content
}

func (b *trackedBody) Read(p []byte) (int, error) {
	if !b.begin() {
		return 0, b.ended()
	}
	n, err := b.content.Read(p)
	return b.end(n, err)
}

// ended returns what a finished body yields. The transport may read again after a complete body
// or an early response: an error would make it close the connection.
func (b *trackedBody) ended() error {
	if b.handed == b.total {
		return io.EOF
	}
	return errAbandoned
}

func (b *trackedBody) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = !b.over && b.err == nil
	return b.reading
}

func (b *trackedBody) end(n int, err error) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	if b.over {
		_ = b.content.Close()
		return 0, b.ended()
	}
	if n > 0 {
		b.sending.touched.Store(true)
		b.handed += int64(n)
	}
	if b.decided.IsZero() && b.handed >= b.decisive {
		b.decided = b.sending.now()
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	if b.handed < b.total && err == nil {
		b.sending.dog.Alive()
	} else {
		b.sending.dog.Rest() // the response timeout starts here
	}
	return n, err
}

func (b *trackedBody) Close() error {
	b.finish()
	return nil
}

func (b *trackedBody) finish() (complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over && !b.reading {
		_ = b.content.Close()
	}
	b.over = true
	return b.handed >= b.decisive
}

// sent returns the earliest time when the server could have the complete body, or else the
// start of the request.
func (b *trackedBody) sent() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.decided.IsZero() {
		return b.sending.start
	}
	return b.decided
}

func (b *trackedBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
