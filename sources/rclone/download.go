package rclone

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// rclone sends no more bytes than it announces. So content that is longer than its storage lists is
// downloaded by rclone into a temporary file, which takes any size.

// A download is the content of an object in a temporary file.
type download struct {
	*os.File
	dir  string
	size int64
}

// download lets rclone store an object in a private folder.
func (s *Source) download(ctx context.Context, key sources.Key) (_ *download, err error) {
	dir, err := os.MkdirTemp("", "assetferry-download-*")
	if err != nil {
		return nil, err
	}
	d := &download{dir: dir}
	defer func() {
		if err != nil {
			_ = d.Close()
		}
	}()
	const name = "content"
	err = s.call(ctx, "operations/copyfile", map[string]any{
		"srcFs": s.root, "srcRemote": string(key), "dstFs": dir, "dstRemote": name,
		"_config": map[string]any{"IgnoreSize": true, "MultiThreadStreams": 1}, // several streams would be those of the listed size
	}, &struct{}{})
	if err != nil {
		return nil, err
	}
	if d.File, err = os.Open(filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	info, err := d.Stat()
	if err != nil {
		return nil, err
	}
	d.size = info.Size()
	return d, nil
}

// Close deletes the file.
func (d *download) Close() error {
	var err error
	if d.File != nil {
		err = d.File.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// openLonger opens content that is longer than listed.
func (r *reader) openLonger(offset int64) (io.ReadCloser, error) {
	_, want := r.source.sum(r.object.VersionTag)
	d, sum, err := r.downloadListed()
	switch {
	case err != nil:
	case want != "" && sum != want:
		err = changed("its checksum is %s instead of %s", sum, want)
	case d.size != r.size:
		err = cmp.Or(r.measure(func(size int64) bool { return size == r.size }), changed("it has %d bytes instead of %d", d.size, r.size))
	}
	if err == nil {
		_, err = d.Seek(offset, io.SeekStart)
	}
	if err != nil {
		if d != nil {
			_ = d.Close()
		}
		return nil, r.source.fail(r.ctx, "open", r.object.Key, ofObject(err))
	}
	return &longer{d, r}, nil
}

// A longer is content in a temporary file.
type longer struct {
	*download
	reader *reader
}

// Describe implements sources.Describer.
func (l *longer) Describe(ctx context.Context) (sources.Description, error) {
	return l.reader.Describe(ctx)
}

// downloadListed downloads the listed version, and returns its checksum: of the kind that the listing
// has, or SHA-256.
func (r *reader) downloadListed() (*download, string, error) {
	d, err := r.source.download(r.ctx, r.object.Key)
	if err != nil {
		return nil, "", err
	}
	sum, _ := r.source.sum(r.object.VersionTag)
	if sum == nil {
		sum = sha256.New()
	}
	if err = r.look(); err == nil {
		err = sumUp(sum, d)
	}
	if err != nil {
		return nil, "", errors.Join(err, d.Close())
	}
	return d, hex.EncodeToString(sum.Sum(nil)), nil
}

func sumUp(sum hash.Hash, from io.ReadSeeker) error {
	if _, err := io.Copy(sum, from); err != nil {
		return err
	}
	_, err := from.Seek(0, io.SeekStart)
	return err
}

// mayBeLonger reports whether the error of a read may mean that the content is longer than listed: the
// transfer ends early each time, or has another checksum.
func (r *reader) mayBeLonger(err error) bool {
	if !r.isWhole || r.size != r.object.Size || r.ctx.Err() != nil {
		return false
	}
	_, cut := errors.AsType[*retry.CutError](err)
	return cut || r.sum != nil && r.read == r.size && errors.Is(err, sources.ErrChanged)
}

// lastPart is more than rclone sends at once. It drops the part in which content exceeds its size, so
// that the transfer ends, and its next request ends at that size.
const lastPart = 256 << 10

// noteCut notes an interruption after which content without a checksum may be incomplete.
func (r *reader) noteCut(next int64) {
	r.cutAtEnd = r.cutAtEnd || r.isWhole && r.sum == nil && next > 0 && r.size == r.object.Size && r.size-next <= lastPart
}

// checkLength returns an error if content is longer than listed. Without a checksum it must be the same
// in two downloads.
func (r *reader) checkLength() error {
	return r.measure(func(size int64) bool { return size <= r.size })
}

// measure returns an error with the size of the content, unless it is right.
func (r *reader) measure(isRight func(size int64) bool) error {
	if err := r.look(); err != nil {
		return err
	}
	first := ""
	for range 2 {
		d, sum, err := r.downloadListed()
		if err != nil {
			return err
		}
		if err := d.Close(); err != nil {
			return err
		}
		switch {
		case isRight(d.size):
			return nil
		case r.sum != nil && sum != r.want, first != "" && sum != first:
			return changed("it has %d bytes instead of the listed %d", d.size, r.object.Size)
		case r.sum != nil, first != "":
			return r.resized(d.size)
		}
		first = sum
	}
	return nil
}

var _ sources.Describer = (*longer)(nil)
