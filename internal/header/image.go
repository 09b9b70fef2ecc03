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

// MostRead is how many bytes of an image are read to find its size: before it there may
// be large profiles and thumbnails.
const MostRead = 4 << 20

// ErrUnknown says that the size of an image cannot be told, which does not mean that
// there is something wrong with it.
var ErrUnknown = errors.New("cannot be told")

// Size reads the size of an image of a kind from its header. An error that is not
// ErrUnknown says that the header is damaged or cut off. Errors of reading come as they
// are.
func Size(kind Kind, r io.ReaderAt, size int64) (width, height int, err error) {
	decode := decoder(kind)
	if decode == nil {
		return 0, 0, ErrUnknown
	}
	in := &bounded{r: r, size: size, left: MostRead}
	defer func() { // what others decode is hostile here
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
		return 0, 0, errors.New("it has no size")
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

// isUnsupported reports whether an image is of a form that we cannot read, though others
// may.
func isUnsupported(err error) bool {
	_, isJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, isPNG := errors.AsType[png.UnsupportedError](err)
	_, isTIFF := errors.AsType[tiff.UnsupportedError](err)
	return isJPEG || isPNG || isTIFF || errors.Is(err, bmp.ErrUnsupported)
}

// bounded reads so many bytes and no more. It keeps an error of reading, which decoders
// may hide.
type bounded struct {
	r    io.ReaderAt
	size int64
	at   int64 // of Read
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

// ReadAt implements io.ReaderAt, which spares the decoder of TIFF to keep all that is
// before what it looks for.
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
