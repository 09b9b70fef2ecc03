package ckfinder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if offset < 0 || offset > o.Size {
		return nil, s.fail(ctx, "open", o.Key, fmt.Errorf("offset %d is not between 0 and %d", offset, o.Size))
	}
	r := &reader{ctx: ctx, source: s, object: o, start: offset, next: offset, cuts: retry.CutsFrom(offset)}
	r.at, r.name = s.placeOf(o.Key)
	if validatorIn(o.VersionTag) == "" {
		r.sum = sha256.New()
	}
	err := s.patiently(ctx, func(context.Context) error { return r.connect() })
	if err == nil && r.sum != nil {
		err = s.recheck(ctx, r.at, r.name, o.VersionTag)
	}
	if err != nil {
		r.disconnect()
		return nil, s.fail(ctx, "open", o.Key, r.judge(err))
	}
	return r, nil
}

// A reader reads one object to its listed size, over as many connections as that takes.
type reader struct {
	ctx    context.Context
	source *Source
	object sources.Object
	at     place
	name   string
	start  int64
	next   int64     // the offset of the next byte
	sum    hash.Hash // of what was read since the start, where nothing else tells versions apart
	err    error     // sticky

	body *content // nil if it was cut off

	cut  error // why there is no body
	cuts retry.Cuts
}

// connect asks for the content from the next byte on. It is never asked for nothing, which
// cannot be expressed, but then for the last byte once more. Where nothing tells versions
// apart, what was read already is read again and compared.
func (r *reader) connect() error {
	from := r.next
	if r.sum != nil {
		from = r.start
	}
	from = min(from, max(r.object.Size-1, 0))
	wanted := ""
	if from > 0 {
		wanted = fmt.Sprintf("%d-", from)
	}
	c, err := r.source.content(r.ctx, r.at, r.name, wanted)
	if err != nil {
		return err
	}
	if err = r.skip(c, from); err != nil {
		c.cancel(nil) // so that nothing is read for the sake of the connection
		c.Close()
		return err
	}
	r.body = c
	return nil
}

// skip makes sure that an answer is of the listed version, and reads up to the next byte.
func (r *reader) skip(c *content, from int64) error {
	first, size := c.span()
	listed, now := validatorIn(r.object.VersionTag), c.validator()
	switch {
	case c.none(), size >= 0 && size != r.object.Size, listed != "" && now != "" && now != listed:
		return &failure{status: c.answer.StatusCode, err: sources.ErrChanged, class: retry.Permanent}
	case first != 0 && first != from:
		return odd("the connector was asked for the content from byte %d on and gave another part", from)
	}
	if r.sum == nil {
		return discard(c, r.next-first)
	}
	if err := discard(c, r.start-first); err != nil {
		return err
	}
	again := sha256.New()
	if _, err := io.CopyN(again, c, r.next-r.start); err != nil {
		return cutOff(err)
	}
	if !bytes.Equal(again.Sum(nil), r.sum.Sum(nil)) {
		return &failure{status: c.answer.StatusCode, err: sources.ErrChanged, class: retry.Permanent}
	}
	return nil
}

func discard(c *content, n int64) error {
	if _, err := io.CopyN(io.Discard, c, n); err != nil {
		return cutOff(err)
	}
	return nil
}

// judge finds out whether it is the file that is refused, or everything: then no item is to
// blame.
func (r *reader) judge(err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || f.status == 0 || f.class.Repeatable() || f.number == fileNotFound || errors.Is(err, sources.ErrChanged) {
		return err
	}
	if all := r.source.excuse(r.ctx, r.at.kind, err); all != nil {
		return all
	}
	f.auth = false
	if f.class == retry.Fatal {
		f.class = retry.Permanent
	}
	return err
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.read(p)
	r.next += int64(n)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	switch {
	case err == nil || err == io.EOF:
		r.err = err
	case r.ctx.Err() != nil:
		r.err = context.Cause(r.ctx)
	default:
		r.err = r.source.fail(r.ctx, "read", r.object.Key, r.judge(err))
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
		n, err := r.body.Read(p[:min(int64(len(p)), left)])
		if err == nil || int64(n) == left && err == io.EOF {
			return n, nil // finish tells
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
func (r *reader) finish() error {
	if r.body == nil {
		return io.EOF
	}
	var more [1]byte
	n, err := r.body.Read(more[:])
	if n > 0 {
		return &failure{err: fmt.Errorf("%w: the connector sends more than the %d bytes that are listed", sources.ErrChanged, r.object.Size), class: retry.Permanent}
	}
	r.disconnect()
	if err == nil || r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return io.EOF // whatever ended the connection: all bytes are there
}

// resume takes up content that was cut off, unless that happens again and again.
func (r *reader) resume() error {
	err := r.cuts.Again(r.ctx, r.next, r.object.Size, r.cut)
	if _, tooOften := errors.AsType[*retry.CutError](err); tooOften {
		return &failure{err: err, class: retry.Transient}
	} else if err != nil {
		return err
	}
	return r.source.patiently(r.ctx, func(context.Context) error { return r.connect() })
}

func (r *reader) disconnect() {
	if r.body == nil {
		return
	}
	r.body.cancel(nil) // so that nothing is read for the sake of the connection
	r.body.Close()
	r.body = nil
}

func (r *reader) Close() error {
	r.disconnect()
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return nil
}

// Describe implements sources.Describer.
func (r *reader) Describe(ctx context.Context) (sources.Description, error) {
	return r.source.Describe(ctx, r.object)
}
