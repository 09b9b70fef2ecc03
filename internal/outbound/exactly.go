package outbound

import (
	"errors"
	"fmt"
	"io"
)

// ErrSize means that the content of an upload does not have the announced size.
var ErrSize = errors.New("the size differs from the announced one")

// Exactly reads the announced number of bytes. Fewer or more bytes are an error before the end of
// the body, so that no server accepts it.
func Exactly(content io.Reader, size int64) io.Reader { return &exactly{content, size} }

type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, e.end()
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	switch {
	case err != io.EOF:
		return n, err
	case e.left > 0:
		return n, fmt.Errorf("%w: %d bytes are missing: %w", ErrSize, e.left, io.ErrUnexpectedEOF)
	}
	return n, nil
}

// end returns io.EOF if nothing follows the announced bytes. The source may also report here that
// the object has changed.
func (e *exactly) end() error {
	n, err := io.ReadFull(e.r, make([]byte, 1))
	switch {
	case n > 0:
		return fmt.Errorf("%w: it is longer", ErrSize)
	case errors.Is(err, io.ErrUnexpectedEOF): // an error of the reader; ReadFull does not return it for one byte
		return fmt.Errorf("%w: %w", ErrSize, err)
	}
	return err
}
