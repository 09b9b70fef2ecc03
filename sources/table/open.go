package table

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// Open implements sources.Source. The reader is a sources.Describer.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.CheckOffset(offset); err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	e, err := s.find(ctx, o)
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	o.VersionTag, _ = e.contentTag(o.VersionTag) // as the file system or the server has it
	r := &reader{ctx: ctx, source: s, object: o, description: sources.Description{ContentType: e.contentType, Fields: e.fields}}
	if offset == 0 {
		r.hash, r.checksum = hashOf(e.checksum), e.checksum
	}
	if e.url == nil {
		r.from, err = s.openFile(e.path, o, offset)
	} else {
		r.from, err = s.fetch(ctx, e, o, offset, &r.description)
	}
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	return r, nil
}

// A reader reads one object to its listed size, and compares it with the checksum in the table.
type reader struct {
	ctx         context.Context
	source      *Source
	object      sources.Object
	description sources.Description
	from        io.ReadCloser
	hash        hash.Hash // nil without a checksum
	checksum    checksum
	err         error // sticky
}

// Describe implements sources.Describer. It makes no request.
func (r *reader) Describe(context.Context) (sources.Description, error) { return r.description, nil }

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil || len(p) == 0 {
		return 0, r.err
	}
	if r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
		return 0, r.err
	}
	n, err := r.from.Read(p)
	if r.hash != nil {
		r.hash.Write(p[:n])
	}
	if err == io.EOF && r.hash != nil {
		err = r.compare()
	}
	if r.err = err; err != nil && err != io.EOF {
		r.err = r.source.fail(r.ctx, "read", r.object.Key, err)
	}
	return n, r.err
}

// compare returns io.EOF if the content matches the checksum.
func (r *reader) compare() error {
	if got := hex.EncodeToString(r.hash.Sum(nil)); got != r.checksum.hex {
		return &checksumError{r.checksum, got}
	}
	return io.EOF
}

func (r *reader) Close() error {
	if r.err == nil {
		r.err = fs.ErrClosed
	}
	return r.from.Close()
}

// A checksumError means that the content does not match the checksum in the table.
type checksumError struct {
	want checksum
	got  string
}

func (e *checksumError) Error() string {
	return fmt.Sprintf("the content has the %s checksum %s, but the table has %s", e.want.algorithm, e.got, e.want.hex)
}

// Class implements retry.Classified.
func (e *checksumError) Class() retry.Class { return retry.Permanent }

// hashOf returns a hash of the same algorithm, or nil.
func hashOf(d checksum) hash.Hash {
	switch d.algorithm {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	}
	return nil
}

// A file is the content of an entry with a path.
type file struct {
	*os.File
	object sources.Object
	left   int64
}

// openFile opens a file, and checks on the handle that it is the listed one.
func (s *Source) openFile(path string, o sources.Object, offset int64) (io.ReadCloser, error) {
	// Stat first, because opening a pipe or a device has side effects.
	info, err := s.stat(path)
	if err != nil {
		return nil, err
	}
	if !isSameFile(info, o) {
		return nil, sources.ErrChanged
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	opened, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	f := &file{opened, o, o.Size - offset}
	if err = f.check(); err == nil {
		_, err = opened.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return f, nil
}

func isSameFile(info fs.FileInfo, o sources.Object) bool {
	return info.Mode().IsRegular() && info.Size() == o.Size && tagOf(info) == o.VersionTag
}

func (f *file) check() error {
	info, err := f.Stat()
	if err == nil && !isSameFile(info, f.object) {
		err = sources.ErrChanged
	}
	return err
}

// Read ends with io.EOF only if everything was delivered and the file is unchanged. It may have
// been written to during reading.
func (f *file) Read(p []byte) (int, error) {
	n, err := 0, io.EOF
	if f.left > 0 {
		n, err = f.File.Read(p[:min(int64(len(p)), f.left)])
		f.left -= int64(n)
	}
	if err != io.EOF {
		return n, err
	}
	if err := f.check(); err != nil {
		return n, err
	}
	if f.left > 0 {
		return n, io.ErrUnexpectedEOF
	}
	return n, io.EOF
}
