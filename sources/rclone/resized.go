package rclone

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Some storages list another size than that of the content: OneDrive does that with photos of phones
// that have a film, and with documents that it changes. Such content is shorter than rclone announces,
// so its transfer looks interrupted. It is the listed version if it has the listed checksum. Without
// one, it is if two more reads return the same.

// isResized reports whether all content was read, by its checksum, although it is shorter than its
// size.
func (r *reader) isResized() bool {
	return r.sum != nil && r.read < r.size && r.checksum() == r.want
}

// resized returns the error for content that has another size than listed.
func (r *reader) resized(size int64) error {
	return &remote.Failure{Err: &sources.SizeError{Listed: r.object.Size, Object: r.object.Resized(size)}, Kind: retry.Permanent}
}

func isSizeError(err error) bool {
	_, is := errors.AsType[*sources.SizeError](err)
	return is
}

// endsEarly reports whether the error of a read may mean that the content without a checksum is shorter
// than its size.
func (r *reader) endsEarly(err error) bool {
	if r.sum != nil || !r.isWhole || r.read == 0 || r.read >= r.size || r.ctx.Err() != nil || errors.Is(err, sources.ErrChanged) || isSizeError(err) {
		return false
	}
	class, _ := retry.Classify(err)
	return class == retry.Transient || class == retry.Permanent
}

// readsEqual reads the content twice more, and reports whether it ends at the same byte and is the same.
func (r *reader) readsEqual() bool {
	var first []byte
	for range 2 {
		body, err := r.request(0)
		if err != nil {
			return false
		}
		sum := sha256.New()
		n, _ := io.Copy(sum, body) // its end looks like an interruption
		body.Close()
		if n != r.read || first != nil && !bytes.Equal(first, sum.Sum(nil)) {
			return false
		}
		first = sum.Sum(nil)
	}
	return r.look() == nil
}
