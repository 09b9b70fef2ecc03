package outbound

import (
	"errors"
	"fmt"
	"io"
)

// ErrSize says that the content of an upload is not of the announced size.
var ErrSize = errors.New("size is not the announced one")

// Exactly reads as many bytes as were announced. Fewer or more are an error, and it comes
// before what follows the content, so that no server takes such a body.
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
		return n, fmt.Errorf("%w: it ends %d bytes early: %w", ErrSize, e.left, io.ErrUnexpectedEOF)
	}
	return n, nil
}

// end is io.EOF if there is nothing behind the announced bytes. The source may
// also say only now that what it delivered is not what was listed.
func (e *exactly) end() error {
	n, err := io.ReadFull(e.r, make([]byte, 1))
	switch {
	case n > 0:
		return fmt.Errorf("%w: there is more", ErrSize)
	case errors.Is(err, io.ErrUnexpectedEOF): // a reader may end with it, ReadFull does not for one byte
		return fmt.Errorf("%w: %w", ErrSize, err)
	}
	return err
}
