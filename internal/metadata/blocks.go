package metadata

import (
	"errors"
	"fmt"
	"io"
)

// Bounds of what is asked for of one object. What describes a picture is in a few places;
// a file in which it is in many is read as its content passes by, or not at all.
const (
	blockSize   = 64 << 10 // most pictures have all of it in the first one
	maxBlocks   = 256      // that are kept
	maxRequests = 32
)

// errScattered says that a file would take too many requests.
var errScattered = fmt.Errorf("it is in more places than %d requests reach", maxRequests)

// Blocks read content at any place where it can only be opened at an offset: with few
// requests, each for whole blocks, which are kept. They are for one object, and for
// [Embedded].
type Blocks struct {
	open     func(offset int64) (io.ReadCloser, error)
	size     int64
	kept     map[int64][]byte // by the number of the block
	requests int
}

// NewBlocks reads content of a size by opening it.
func NewBlocks(open func(offset int64) (io.ReadCloser, error), size int64) *Blocks {
	return &Blocks{open: open, size: size, kept: map[int64][]byte{}}
}

// ReadAt reads what is kept, and asks for the rest.
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

// ask reads the blocks from one on, up to the last that is wanted or one that is kept.
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
			err = io.ErrUnexpectedEOF // the content is shorter than it was
		} else if err == nil {
			b.kept[number] = block
		}
	}
	return errors.Join(err, content.Close())
}
