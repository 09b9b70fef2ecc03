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

// ChecksumOfObjectTo is ChecksumOfObject that also writes what it reads.
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

// A LengthError says that the content of an asset is not as long as the service
// says it is, so that nothing is known from it.
type LengthError struct {
	Asset     string
	Got, Want int64
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("asset %s has %d bytes, but the service reports %d", e.Asset, e.Got, e.Want)
}

// Class is permanent: it comes again on every try.
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

// ChecksumOf returns the SHA-256 checksum of what is left to read, and how many bytes that is. It
// closes the reader.
func ChecksumOf(r io.ReadCloser) ([]byte, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, n, err
	}
	return h.Sum(nil), n, nil
}

// A HashingReader counts and hashes what is read through it. It is read in a goroutine of the
// transport, and summed up in another one, hence the lock.
type HashingReader struct {
	io.ReadCloser
	report func(n int64)
	also   *metadata.Capture // that is shown what is read, if it is not nil

	mu   sync.Mutex
	hash hash.Hash
	n    int64
}

// NewHashingReader returns a reader of r that also writes to also, unless that is nil, and calls
// report with the number of bytes of each read.
func NewHashingReader(r io.ReadCloser, also *metadata.Capture, report func(n int64)) *HashingReader {
	return &HashingReader{ReadCloser: r, also: also, report: report, hash: sha256.New()}
}

// Read is that of [io.Reader].
func (r *HashingReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	r.hash.Write(p[:n])
	r.n += int64(n)
	if r.also != nil {
		_, _ = r.also.Write(p[:n]) // a hash takes everything
	}
	r.mu.Unlock()
	r.report(int64(n))
	return n, err
}

// Sum returns the SHA-256 checksum of what was read so far, and how many bytes that is.
func (r *HashingReader) Sum() ([]byte, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hash.Sum(nil), r.n
}
