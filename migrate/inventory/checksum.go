package inventory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
)

// ChecksumOfObject reads an object and returns its SHA-256 checksum.
func ChecksumOfObject(ctx context.Context, s sources.Source, o sources.Object) ([]byte, error) {
	return ChecksumOfObjectTo(ctx, s, o, io.Discard)
}

// ChecksumOfObjectTo is ChecksumOfObject that also writes the content to a writer.
func ChecksumOfObjectTo(ctx context.Context, s sources.Source, o sources.Object, also io.Writer) ([]byte, error) {
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	checksum, _, err := ChecksumOf(teeReader{io.TeeReader(r, also), r})
	return checksum, err
}

// A teeReader is a reader that another user reads along with.
type teeReader struct {
	io.Reader
	io.Closer
}

// A LengthError means that the content of an asset does not have the length that the service
// reports, so that its checksum is no evidence.
type LengthError struct {
	Asset     string
	Got, Want int64
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("asset %s has %d bytes, but the service reports %d", e.Asset, e.Got, e.Want)
}

// Class returns permanent: the error occurs on every attempt.
func (e *LengthError) Class() retry.Class { return retry.Permanent }

// ChecksumOfWhole is ChecksumOfAsset that fails with a [LengthError] if the content does not have the
// size in bytes that the service gave.
func ChecksumOfWhole(ctx context.Context, d migrate.Reader, asset, url string, size int64) ([]byte, error) {
	checksum, n, err := ChecksumOfAsset(ctx, d, url)
	if err == nil && n != size {
		return nil, &LengthError{asset, n, size}
	}
	return checksum, err
}

// ChecksumOfAsset reads an asset's content from its URL and returns its SHA-256 checksum and how many
// bytes it has.
func ChecksumOfAsset(ctx context.Context, d migrate.Reader, url string) ([]byte, int64, error) {
	r, _, err := d.Download(ctx, url, 0)
	if err != nil {
		return nil, 0, err
	}
	return ChecksumOf(r)
}

// ChecksumOf returns the SHA-256 checksum of the remaining content, and its length in bytes. It
// closes the reader.
func ChecksumOf(r io.ReadCloser) ([]byte, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, n, err
	}
	return h.Sum(nil), n, nil
}

// A HashingReader counts and hashes the bytes that are read through it. The transport reads it in
// one goroutine, and another one calls Sum, so it has a lock.
type HashingReader struct {
	io.ReadCloser
	report func(n int64)
	also   *metadata.Capture // receives the content, if not nil

	mu   sync.Mutex
	hash hash.Hash
	n    int64
}

// NewHashingReader returns a reader of r that also writes to also, unless that is nil, and calls
// report with the number of bytes of each read.
func NewHashingReader(r io.ReadCloser, also *metadata.Capture, report func(n int64)) *HashingReader {
	return &HashingReader{ReadCloser: r, also: also, report: report, hash: sha256.New()}
}

// Read implements [io.Reader].
func (r *HashingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	r.hash.Write(p[:n])
	r.n += int64(n)
	if r.also != nil {
		_, _ = r.also.Write(p[:n]) // writing to a hash never fails
	}
	r.mu.Unlock()
	r.report(int64(n))
	return n, err
}

// Sum returns the SHA-256 checksum of the bytes that were read so far, and their number.
func (r *HashingReader) Sum() ([]byte, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hash.Sum(nil), r.n
}
