package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/sources"
)

const (
	// partSize is the number of bytes per request. They stay in memory, so that the SDK can
	// retry.
	partSize  = 8 << 20
	mostParts = 10_000
	// smallFile is the size in bytes of the largest file that Read accepts.
	smallFile = 64 << 20
)

// A Store writes files into a part of a bucket. A file is complete or missing.
type Store struct{ *Source }

// NewStore returns the store of a URL. It makes no request.
func NewStore(ctx context.Context, url URL, o Options) (Store, error) {
	s, err := New(ctx, url, o)
	return Store{s}, err
}

// Read returns a small file, or fs.ErrNotExist.
func (s Store) Read(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.url.Bucket, Key: s.name(sources.Key(name)), RequestPayer: s.payer}, where...)
		if err != nil {
			return err
		}
		data, err = io.ReadAll(io.LimitReader(out.Body, smallFile+1))
		if err == nil && len(data) > smallFile {
			err = fmt.Errorf("it has more than %d bytes", smallFile)
		}
		return errors.Join(err, out.Body.Close())
	})
	if err != nil {
		return nil, s.fail(ctx, "read", sources.Key(name), err)
	}
	return data, nil
}

// Size returns the size of a file in bytes, or fs.ErrNotExist.
func (s Store) Size(ctx context.Context, name string) (int64, error) {
	o, err := s.Find(ctx, sources.Key(name))
	return o.Size, err
}

// IsEmpty reports whether there are no keys.
func (s Store) IsEmpty(ctx context.Context) (bool, error) {
	for _, err := range s.Objects(ctx, "") {
		if errors.Is(err, fs.ErrNotExist) { // no key has the prefix
			return true, nil
		}
		return false, err
	}
	return true, nil
}

// Folder does nothing, because a bucket has no folders.
func (s Store) Folder(context.Context, string) error { return nil }

// Write creates or replaces a file, a large one in parts.
func (s Store) Write(ctx context.Context, name, contentType string, size int64, content io.Reader) error {
	err := s.write(ctx, name, contentType, size, content)
	if err != nil {
		return s.fail(ctx, "write", sources.Key(name), err)
	}
	return nil
}

func (s Store) write(ctx context.Context, name, contentType string, size int64, content io.Reader) error {
	u := upload{Store: s, name: s.name(sources.Key(name)), content: content, left: size, part: max(partSize, (size+mostParts-1)/mostParts)}
	if contentType != "" {
		u.contentType = &contentType
	}
	if size > partSize {
		return u.inParts(ctx)
	}
	data, err := u.next()
	if err != nil {
		return err
	}
	if err := u.finish(); err != nil {
		return err
	}
	return s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.url.Bucket, Key: u.name, ContentType: u.contentType, RequestPayer: s.payer,
			Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data)))}, where...)
		return err
	})
}

// An upload is the state of an upload in parts.
type upload struct {
	Store
	name, contentType *string
	content           io.Reader
	left              int64 // remaining bytes
	part              int64 // bytes of a part
	parts             []types.CompletedPart
}

// next reads the next part.
func (u *upload) next() ([]byte, error) {
	data := make([]byte, min(u.part, u.left))
	n, err := io.ReadFull(u.content, data)
	if err != nil {
		return nil, fmt.Errorf("%d bytes are missing: %w", u.left-int64(n), noEOF(err))
	}
	u.left -= int64(n)
	return data, nil
}

// finish checks that the content ends.
func (u *upload) finish() error {
	var more [1]byte
	switch n, err := io.ReadFull(u.content, more[:]); {
	case n > 0:
		return errors.New("the content is longer than listed")
	case err != io.EOF:
		return err
	}
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// inParts writes a large file. If it fails, it removes all parts.
func (u *upload) inParts(ctx context.Context) (err error) {
	var id *string
	err = u.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		out, err := u.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &u.url.Bucket, Key: u.name, ContentType: u.contentType, RequestPayer: u.payer}, where...)
		if err == nil {
			id = out.UploadId
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // parts that stay cost money
			err = errors.Join(err, u.abort(context.WithoutCancel(ctx), id))
		}
	}()
	for u.left > 0 {
		if err := u.send(ctx, id); err != nil {
			return err
		}
	}
	if err := u.finish(); err != nil {
		return err
	}
	return u.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		_, err := u.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &u.url.Bucket, Key: u.name, UploadId: id, RequestPayer: u.payer,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts}}, where...)
		return err
	})
}

// send uploads the next part.
func (u *upload) send(ctx context.Context, id *string) error {
	data, err := u.next()
	if err != nil {
		return err
	}
	number := aws.Int32(int32(len(u.parts) + 1))
	return u.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		out, err := u.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &u.url.Bucket, Key: u.name, UploadId: id, PartNumber: number, RequestPayer: u.payer,
			Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data)))}, where...)
		if err == nil {
			u.parts = append(u.parts, types.CompletedPart{PartNumber: number, ETag: out.ETag})
		}
		return err
	})
}

func (u *upload) abort(ctx context.Context, id *string) error {
	return u.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		_, err := u.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.url.Bucket, Key: u.name, UploadId: id, RequestPayer: u.payer}, where...)
		return err
	})
}
