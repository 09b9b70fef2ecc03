package apply

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"assetferry/internal/scan"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// A Scanner decides whether content may be uploaded. It returns a [scan.RefusedError] if not.
type Scanner interface {
	Scan(ctx context.Context, o scan.Object, content io.Reader) error
	Check(ctx context.Context) error
}

// keptMost is the size up to which scanned content is kept in memory, so that it is read once. Each
// worker keeps at most one. Larger objects are read again for their upload.
const keptMost = 1 << 20

// A scanned is content that the scanner accepted.
type scanned struct {
	checksum []byte
	size     int64
	kept     []byte // the content, if keeps
	keeps    bool
}

// startScanned returns the content that the scanner has accepted, or the reason why there is none.
func (c *content) startScanned(ctx context.Context) (io.ReadCloser, error) {
	if c.scanned == nil {
		if err := c.scan(ctx); err != nil {
			return nil, err
		}
	}
	if c.scanned.keeps {
		return io.NopCloser(bytes.NewReader(c.scanned.kept)), nil
	}
	return c.read(ctx)
}

// scan reads the object for the scanner.
func (c *content) scan(ctx context.Context) error {
	r, err := c.read(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	s := &scanned{keeps: c.item.Size <= keptMost}
	sum := sha256.New()
	also := io.Writer(sum)
	kept := &bytes.Buffer{}
	if s.keeps {
		kept.Grow(int(c.item.Size) + bytes.MinRead)
		also = io.MultiWriter(sum, kept)
	}
	counted := &countingReader{r: io.TeeReader(r, also)}
	if err := c.Scan.Scan(ctx, scan.Object{Key: string(c.item.Key), Size: c.item.Size}, counted); err != nil {
		return err
	}
	s.checksum, s.size, s.kept = sum.Sum(nil), counted.n, kept.Bytes()
	s.keeps = s.keeps && s.size <= keptMost
	c.scanned = s
	return nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// refusal returns why the content must not be uploaded, if the scanner is the reason.
func (c *content) refusal() error {
	if isScanError(c.failure) {
		return c.failure
	}
	return nil
}

func isScanError(err error) bool {
	_, refused := errors.AsType[*scan.RefusedError](err)
	_, failed := errors.AsType[*scan.Error](err)
	return refused || failed
}

// A scannedReader fails before the end of content that differs from the scanned content, so that no
// other content is ever uploaded completely.
type scannedReader struct {
	*inventory.HashingReader
	scanned *scanned
	n       int64
}

func (r *scannedReader) Read(p []byte) (int, error) {
	n, err := r.HashingReader.Read(p)
	if r.n += int64(n); err != nil && err != io.EOF || err == nil && r.n < r.scanned.size {
		return n, err
	}
	if sum, _ := r.Sum(); r.n != r.scanned.size || !bytes.Equal(sum, r.scanned.checksum) {
		return 0, fmt.Errorf("after its scan: %w", sources.ErrChanged)
	}
	return n, err
}

// checkScanner fails if there is something to upload and the scanner does not work. Without that, the
// first items would use up their retries.
func (a *Applier) checkScanner(ctx context.Context, left map[state.Action]bool) error {
	if a.Scan == nil || !left[state.Create] && !left[state.Replace] {
		return nil
	}
	err := a.Scan.Check(ctx)
	if _, works := errors.AsType[*scan.RefusedError](err); works {
		return nil
	}
	return err
}
