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

// DigestOfObject reads an object and hashes it.
func DigestOfObject(ctx context.Context, s sources.Source, o sources.Object) ([]byte, error) {
	return DigestOfObjectBeside(ctx, s, o, io.Discard)
}

// DigestOfObjectBeside reads an object, hashes it, and passes on what it reads.
func DigestOfObjectBeside(ctx context.Context, s sources.Source, o sources.Object, also io.Writer) ([]byte, error) {
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	digest, _, err := DigestOf(teed{io.TeeReader(r, also), r})
	return digest, err
}

// A teed is a reader that somebody else reads along with.
type teed struct {
	io.Reader
	io.Closer
}

// A LengthError says that the content of an asset is not as long as the service
// says it is, so that nothing can be told from it.
type LengthError struct {
	Asset     string
	Got, Want int64
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("asset %s has %d bytes and is said to have %d", e.Asset, e.Got, e.Want)
}

// Class is permanent: it comes again on every try.
func (e *LengthError) Class() retry.Class { return retry.Permanent }

// DigestOfWhole reads an asset's content and hashes it, if it is of the size that
// the service gave.
func DigestOfWhole(ctx context.Context, d migrate.Reader, asset, url string, size int64) ([]byte, error) {
	digest, n, err := DigestOfAsset(ctx, d, url)
	if err == nil && n != size {
		return nil, &LengthError{asset, n, size}
	}
	return digest, err
}

// DigestOfAsset reads an asset's content and hashes it, and counts its bytes.
func DigestOfAsset(ctx context.Context, d migrate.Reader, url string) ([]byte, int64, error) {
	r, _, err := d.Download(ctx, url, 0)
	if err != nil {
		return nil, 0, err
	}
	return DigestOf(r)
}

func DigestOf(r io.ReadCloser) ([]byte, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, n, err
	}
	return h.Sum(nil), n, nil
}

// Hashing counts and hashes what is read through it. The reader is another
// goroutine, the transport's, hence the lock.
type Hashing struct {
	io.ReadCloser
	tell func(n int64)
	also *metadata.Capture // that is shown what is read, if it is not nil

	mu   sync.Mutex
	hash hash.Hash
	n    int64
}

func NewHashing(r io.ReadCloser, also *metadata.Capture, tell func(n int64)) *Hashing {
	return &Hashing{ReadCloser: r, also: also, tell: tell, hash: sha256.New()}
}

func (r *Hashing) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	r.hash.Write(p[:n])
	r.n += int64(n)
	if r.also != nil {
		_, _ = r.also.Write(p[:n]) // a hash takes everything
	}
	r.mu.Unlock()
	r.tell(int64(n))
	return n, err
}

// Sum gives the digest and the count of what was read so far.
func (r *Hashing) Sum() ([]byte, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hash.Sum(nil), r.n
}
