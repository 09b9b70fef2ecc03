package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
)

const (
	// stallTimeout is how long a body may stand still before it counts as cut off.
	stallTimeout = time.Minute
)

var errStalled = errors.New("no byte moved for too long")

// A reader reads one object to its listed size, over as many connections as that
// takes.
type reader struct {
	ctx         context.Context
	source      *Source
	object      sources.Object
	next        int64               // the offset of the next byte
	version     string              // the one that is read, where the bucket keeps versions
	description sources.Description // without tags
	err         error               // sticky

	body     io.ReadCloser // nil if it was cut off
	cancel   context.CancelCauseFunc
	watchdog *time.Timer

	cut  error // why there is no body
	cuts retry.Cuts
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.read(p)
	r.next += int64(n)
	switch {
	case err == nil || err == io.EOF:
		r.err = err
	case r.ctx.Err() != nil:
		r.err = context.Cause(r.ctx)
	default:
		r.err = r.source.fail(r.ctx, "read", r.object.Key, err)
	}
	return n, r.err
}

// read reads some bytes; at the end it makes sure that there are no more.
func (r *reader) read(p []byte) (int, error) {
	for {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		left := r.object.Size - r.next
		if left == 0 {
			return 0, r.finish()
		}
		if r.body == nil {
			if err := r.resume(); err != nil {
				return 0, err
			}
		}
		n, err := r.receive(p[:min(int64(len(p)), left)])
		switch {
		case err == nil:
			return n, nil
		case int64(n) == left && err == io.EOF:
			return n, nil // finish tells
		case int64(n) == left:
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

// finish wants the body to end, which is when the SDK compares checksums.
func (r *reader) finish() error {
	var more [1]byte
	n, err := r.receive(more[:])
	if n > 0 {
		return fmt.Errorf("the service sends more than the %d bytes that are listed", r.object.Size)
	}
	return err
}

// receive reads from the connection that there is, under the eyes of the watchdog.
func (r *reader) receive(p []byte) (int, error) {
	r.watchdog.Reset(stallTimeout)
	n, err := r.body.Read(p)
	r.watchdog.Stop()
	return n, err
}

// resume takes up a body that was cut off, unless that happens again and again.
func (r *reader) resume() error {
	if err := r.cuts.Again(r.ctx, r.next, r.object.Size, r.cut); err != nil {
		return err
	}
	return r.connect()
}

func (r *reader) disconnect() {
	if r.body == nil {
		return
	}
	r.watchdog.Stop()
	r.cancel(nil)
	_ = r.body.Close() // of something that was read
	r.body = nil
}

func (r *reader) Close() error {
	r.disconnect()
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return nil
}
