package header

import (
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// MostRead is the maximum number of bytes of an image that are read for its size. Large profiles and
// thumbnails may come before it.
const MostRead = 4 << 20

// ErrUnknown means that the size of an image is unknown. The image may be valid.
var ErrUnknown = errors.New("unknown image size")

// Size returns the size of an image in pixels from its header. An error other than ErrUnknown means that
// the header is damaged or incomplete. It returns read errors unchanged.
func Size(kind Kind, r io.ReaderAt, size int64) (width, height int, err error) {
	decode := decoder(kind)
	if decode == nil {
		return 0, 0, ErrUnknown
	}
	in := &bounded{r: r, size: size, left: MostRead}
	defer func() { // decoders may panic on hostile input
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	config, err := decode(in)
	switch {
	case in.err != nil:
		return 0, 0, in.err
	case in.left <= 0, isUnsupported(err):
		return 0, 0, ErrUnknown
	case err != nil:
		return 0, 0, err
	case config.Width <= 0 || config.Height <= 0:
		return 0, 0, errors.New("width or height is missing")
	}
	return config.Width, config.Height, nil
}

func decoder(kind Kind) func(io.Reader) (image.Config, error) {
	switch kind {
	case JPEG:
		return jpeg.DecodeConfig
	case PNG:
		return png.DecodeConfig
	case GIF:
		return gif.DecodeConfig
	case WebP:
		return webp.DecodeConfig
	case TIFF:
		return tiff.DecodeConfig
	case BMP:
		return bmp.DecodeConfig
	}
	return nil
}

// isUnsupported reports whether an image has a valid format that the decoder does not support.
func isUnsupported(err error) bool {
	_, isJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, isPNG := errors.AsType[png.UnsupportedError](err)
	_, isTIFF := errors.AsType[tiff.UnsupportedError](err)
	return isJPEG || isPNG || isTIFF || errors.Is(err, bmp.ErrUnsupported)
}

// bounded limits the bytes that are read. It keeps a read error, which decoders may hide.
type bounded struct {
	r    io.ReaderAt
	size int64
	at   int64 // offset of Read
	left int64
	err  error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadAt(p, b.at)
	b.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt, so that the TIFF decoder does not buffer the file.
func (b *bounded) ReadAt(p []byte, at int64) (int, error) {
	if b.left <= 0 || at < 0 || at >= b.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), b.left, b.size-at)]
	n, err := b.r.ReadAt(want, at)
	b.left -= int64(n)
	switch {
	case err != nil && err != io.EOF:
		b.err = err
	case n < len(p):
		err = io.EOF
	default:
		err = nil
	}
	return n, err
}
