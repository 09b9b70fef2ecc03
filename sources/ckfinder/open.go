package ckfinder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.CheckOffset(offset); err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	r := &reader{ctx: ctx, source: s, object: o, start: offset}
	r.at, r.name = s.placeOf(o.Key)
	if validatorIn(o.VersionTag) == "" {
		r.sum = sha256.New()
	}
	var err error
	r.Reader, err = remote.Open(ctx, remote.Content{Size: o.Size, Connect: r.connect, TooLong: r.tooLong, Fail: r.fail}, offset)
	if err == nil && r.sum != nil {
		if err = s.recheck(ctx, r.at, r.name, o.VersionTag); err != nil {
			_ = r.Close() // opened for reading
		}
	}
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, r.judge(err))
	}
	return r, nil
}

// A reader reads one object to its listed size, and has its metadata.
type reader struct {
	*remote.Reader
	ctx    context.Context
	source *Source
	object sources.Object
	at     place
	name   string
	start  int64
	sum    hash.Hash // of all bytes since start, if nothing else identifies versions
}

// connect requests the content from the next byte on, with retries. An empty range cannot be
// requested, so at the end it requests the last byte again. If nothing identifies versions, it
// reads earlier bytes again and compares them.
func (r *reader) connect(next int64) (body *remote.Body, err error) {
	from := next
	if r.sum != nil {
		from = r.start
	}
	from = min(from, max(r.object.Size-1, 0))
	wanted := ""
	if from > 0 {
		wanted = fmt.Sprintf("%d-", from)
	}
	err = patiently(r.ctx, func(context.Context) error {
		c, err := r.source.content(r.ctx, r.at, r.name, wanted)
		if err != nil {
			return err
		}
		if err = r.skip(c, from, next); err != nil {
			c.Body.Close()
			return err
		}
		body = c.Body
		return nil
	})
	return body, err
}

// skip checks that a response has the listed version, and reads up to the next byte.
func (r *reader) skip(c *content, from, next int64) error {
	first, size := c.span()
	listed, now := validatorIn(r.object.VersionTag), c.validator()
	switch {
	case c.none(), size >= 0 && size != r.object.Size, listed != "" && now != "" && now != listed:
		return &remote.Failure{Status: c.answer.StatusCode, Err: sources.ErrChanged, Kind: retry.Permanent}
	case first != 0 && first != from:
		return odd("the connector returned another range than from byte %d on", from)
	}
	if r.sum == nil {
		return discard(c, next-first)
	}
	if err := discard(c, r.start-first); err != nil {
		return err
	}
	again := sha256.New()
	if _, err := io.CopyN(again, c, next-r.start); err != nil {
		return cutOff(err)
	}
	if !bytes.Equal(again.Sum(nil), r.sum.Sum(nil)) {
		return &remote.Failure{Status: c.answer.StatusCode, Err: sources.ErrChanged, Kind: retry.Permanent}
	}
	return nil
}

func discard(c *content, n int64) error {
	if _, err := io.CopyN(io.Discard, c, n); err != nil {
		return cutOff(err)
	}
	return nil
}

// judge checks whether only the file is refused, or the whole connector.
func (r *reader) judge(err error) error {
	f, ok := errors.AsType[*remote.Failure](err)
	if !ok || f.Status == 0 || f.Kind.Repeatable() || f.Code == fileNotFound || errors.Is(err, sources.ErrChanged) {
		return err
	}
	if all := r.source.excuse(r.ctx, r.at.kind, err); all != nil {
		return all
	}
	f.Auth = false
	if f.Kind == retry.Fatal {
		f.Kind = retry.Permanent
	}
	return err
}

// fail converts the errors of Read.
func (r *reader) fail(err error) error {
	if _, tooOften := errors.AsType[*retry.CutError](err); tooOften {
		err = &remote.Failure{Err: err, Kind: retry.Transient}
	}
	return r.source.fail(r.ctx, "read", r.object.Key, r.judge(err))
}

func (r *reader) tooLong() error {
	return &remote.Failure{Err: fmt.Errorf("%w: the connector sent more than the listed %d bytes", sources.ErrChanged, r.object.Size), Kind: retry.Permanent}
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	return n, err
}

// Describe implements sources.Describer.
func (r *reader) Describe(ctx context.Context) (sources.Description, error) {
	return r.source.Describe(ctx, r.object)
}
