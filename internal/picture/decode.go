package picture

import (
	"bytes"
	"context"
	"encoding/binary"
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

	"assetferry/internal/header"
	"assetferry/internal/pixels"
)

func decoder(kind header.Kind) func(io.Reader) (image.Image, error) {
	switch kind {
	case header.JPEG:
		return jpeg.Decode
	case header.PNG:
		return png.Decode
	case header.GIF:
		return gif.Decode // the first frame
	case header.WebP:
		return webp.Decode
	case header.TIFF:
		return tiff.Decode
	case header.BMP:
		return bmp.Decode
	}
	return nil
}

// decode returns the image in content. An image of more than most pixels is an error. The caller
// must call release when it no longer uses the memory of the image.
func decode(ctx context.Context, content []byte, most int) (m image.Image, release func(), err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the decoder failed: %v", ErrBroken, v)
		}
		if err != nil && release != nil {
			release()
		}
	}()
	kind := header.KindOf(content[:min(len(content), header.Enough)])
	read := decoder(kind)
	switch {
	case read == nil && kind == "":
		return nil, nil, ErrType
	case read == nil:
		return nil, nil, fmt.Errorf("%w: %s", ErrType, kind)
	case kind == header.WebP:
		content = firstFrame(content)
	}
	width, height, err := header.Size(kind, bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, nil, classified(kind, err)
	}
	if width > most/height {
		return nil, nil, fmt.Errorf("%w: %d × %d pixels exceed the limit of %d pixels", ErrTooLarge, width, height, most)
	}
	release, err = pixels.Hold(ctx, pixels.Cost(bytes.NewReader(content), int64(len(content)), width, height))
	if errors.Is(err, pixels.ErrTooLarge) {
		return nil, nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	} else if err != nil {
		return nil, nil, context.Cause(ctx)
	}
	if m, err = read(bytes.NewReader(content)); err != nil {
		return nil, release, classified(kind, err)
	}
	if m.Bounds().Empty() { // possible for the first frame of an animation
		return nil, release, fmt.Errorf("%w: the first frame is empty", ErrBroken)
	}
	return m, release, nil
}

// classified returns an error of a decoder as ErrType if the decoder does not support the image,
// and as ErrBroken otherwise.
func classified(kind header.Kind, err error) error {
	_, isJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, isPNG := errors.AsType[png.UnsupportedError](err)
	_, isTIFF := errors.AsType[tiff.UnsupportedError](err)
	switch {
	case errors.Is(err, header.ErrUnknown):
		return fmt.Errorf("%w: this %s has an unknown size", ErrType, kind)
	case isJPEG, isPNG, isTIFF, errors.Is(err, bmp.ErrUnsupported):
		return fmt.Errorf("%w: %w", ErrType, err)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}

// A chunk of WebP begins with a name and a length.
const (
	webpStart = 12 // RIFF, the length of all, WEBP
	webpHead  = 8
	frameHead = 16 // place, size and duration of a frame
)

// firstFrame returns a WebP file with only the first frame of an animation, because the decoder
// does not support animations. It returns other content unchanged.
func firstFrame(content []byte) []byte {
	for at := webpStart; len(content)-at >= webpHead; {
		length := int64(binary.LittleEndian.Uint32(content[at+4:]))
		body := content[at+webpHead:]
		if length > int64(len(body)) {
			break
		}
		if string(content[at:at+4]) == "ANMF" && length > frameHead {
			return still(body[:length])
		}
		at += webpHead + int(length+length%2) // padded
	}
	return content
}

// still returns a WebP file with one frame.
func still(frame []byte) []byte {
	const hasAlpha = 0x10
	chunks := frame[frameHead:]
	if bytes.HasPrefix(chunks, []byte("ALPH")) { // only allowed in a file with a header of its size
		size := frame[6:12]
		chunks = append(append([]byte("VP8X\x0a\x00\x00\x00"), hasAlpha, 0, 0, 0, size[0], size[1], size[2], size[3], size[4], size[5]), chunks...)
	}
	file := append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(chunks)+4)), "WEBP"...)
	return append(file, chunks...)
}
