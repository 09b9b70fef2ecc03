package local

import (
	"context"
	"io"
	"os"

	"assetferry/sources"
)

// A reader reads one object to its listed size.
type reader struct {
	ctx    context.Context
	source *Source
	object sources.Object
	file   *os.File
	left   int64
	err    error // sticky
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	n, err := r.read(p)
	r.left -= int64(n)
	switch {
	case err == io.EOF:
		r.err = io.EOF
	case err != nil && r.ctx.Err() != nil:
		r.err = err
	case err != nil:
		r.err = r.source.fail("read", r.object.Key, err)
	}
	return n, r.err
}

// read ends with io.EOF only if everything was delivered and the file is unchanged. It may have been
// written to during reading.
func (r *reader) read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := 0, io.EOF
	if r.left > 0 {
		n, err = r.file.Read(p[:min(int64(len(p)), r.left)])
	}
	if err != io.EOF {
		return n, err
	}
	if err := checkListed(r.file, r.object); err != nil {
		return n, err
	}
	if r.left > 0 {
		return n, io.ErrUnexpectedEOF
	}
	return n, io.EOF
}

func (r *reader) Close() error { return r.file.Close() }
