package metadata

import (
	"errors"
	"fmt"
	"io"
)

// Limits for one object. The metadata of an image is in a few places. A file with many places is read
// during the upload, or not at all.
const (
	blockSize   = 64 << 10 // most images have all metadata in the first block
	maxBlocks   = 256      // kept blocks
	maxRequests = 32
)

// errScattered means that a file needs too many requests.
var errScattered = fmt.Errorf("it needs more than %d requests", maxRequests)

// Blocks give random access to the content of one object that can only be opened at an offset. They make
// few requests, each for whole blocks, and keep the blocks. [Embedded] uses them.
type Blocks struct {
	open     func(offset int64) (io.ReadCloser, error)
	size     int64
	kept     map[int64][]byte // by block number
	requests int
}

// NewBlocks returns Blocks for content of a size.
func NewBlocks(open func(offset int64) (io.ReadCloser, error), size int64) *Blocks {
	return &Blocks{open: open, size: size, kept: map[int64][]byte{}}
}

// ReadAt reads from kept blocks, and requests the others.
func (b *Blocks) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 || at >= b.size {
		return 0, io.EOF
	}
	if short := int64(len(p)) > b.size-at; short {
		p, err = p[:b.size-at], io.EOF
	}
	if len(p) == 0 {
		return 0, err
	}
	last := (at + int64(len(p)) - 1) / blockSize
	for number := at / blockSize; number <= last; number++ {
		if b.kept[number] == nil {
			if failed := b.ask(number, last); failed != nil {
				return n, failed
			}
		}
		n += copy(p[n:], b.kept[number][at+int64(n)-number*blockSize:])
	}
	return n, err
}

// ask requests blocks from number to last, or to the first kept block.
func (b *Blocks) ask(number, last int64) error {
	if b.requests == maxRequests || last-number >= maxBlocks {
		return errScattered
	}
	b.requests++
	content, err := b.open(number * blockSize)
	if err != nil {
		return err
	}
	if len(b.kept)+int(last-number) >= maxBlocks {
		clear(b.kept)
	}
	for ; err == nil && number <= last && b.kept[number] == nil; number++ {
		block := make([]byte, min(blockSize, b.size-number*blockSize))
		if _, err = io.ReadFull(content, block); errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the content is shorter than listed
		} else if err == nil {
			b.kept[number] = block
		}
	}
	return errors.Join(err, content.Close())
}
