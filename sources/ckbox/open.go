package ckbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"assetferry/internal/assets"
	"assetferry/sources"
)

// Open implements sources.Source. It reads the current revision of the asset, and returns a [Reader].
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r, err := s.open(ctx, o, offset)
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	return r, nil
}

func (s *Source) open(ctx context.Context, o sources.Object, offset int64) (*Reader, error) {
	if err := o.CheckOffset(offset); err != nil {
		return nil, err
	}
	if o.Version != "" {
		return s.openVersion(ctx, o, offset)
	}
	a, err := s.listed(ctx, o)
	if err != nil {
		return nil, err
	}
	body, size, err := s.service.Download(ctx, a.URL, offset)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it would mean that the asset was deleted
		return nil, fmt.Errorf("the asset exists, but its content is missing: %v", err)
	case err != nil:
		return nil, err
	case size >= 0 && size != o.Size:
		return nil, errors.Join(fmt.Errorf("the service has %d bytes instead of the listed %d", size, o.Size), body.Close())
	}
	return &Reader{ctx: ctx, source: s, object: o, asset: a, body: body, left: o.Size - offset}, nil
}

// listed returns the asset of an object, if it has not changed since it was listed.
func (s *Source) listed(ctx context.Context, o sources.Object) (assets.Asset, error) {
	a, err := s.service.Asset(ctx, o.VersionTag)
	if err == nil && (a.Size != o.Size || !changed(a).Equal(o.Time)) {
		err = sources.ErrChanged
	}
	return a, err
}

// A Reader reads the content of an asset, and has its metadata.
type Reader struct {
	ctx    context.Context
	source *Source
	object sources.Object
	asset  assets.Asset
	body   io.ReadCloser
	left   int64 // remaining bytes
	err    error // sticky
}

// Asset returns the asset being read.
func (r *Reader) Asset() assets.Asset { return r.asset }

// Describe implements sources.Describer.
func (r *Reader) Describe(ctx context.Context) (sources.Description, error) {
	return r.source.describe(ctx, r.object, r.asset)
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.body.Read(p)
	r.left -= int64(n)
	switch {
	case r.ctx.Err() != nil:
		err = context.Cause(r.ctx)
	case r.left < 0:
		n, err = n+int(r.left), fmt.Errorf("the service sent more than the listed %d bytes", r.object.Size)
	case err == io.EOF && r.left > 0:
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		err = r.source.fail(r.ctx, "read", r.object.Key, err)
	}
	r.err = err
	return max(n, 0), err
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return r.body.Close()
}
