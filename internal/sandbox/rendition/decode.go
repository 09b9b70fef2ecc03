package rendition

import (
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// A codec decodes files with a certain prefix; a dot matches any byte.
type codec struct {
	magic  string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// codecs are selected by the content of a file, not by its name. The registry of package image
// is not used, because its order depends on imports.
func codecs() []codec {
	return []codec{
		{"\xff\xd8", jpeg.DecodeConfig, jpeg.Decode},
		{"\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
		{"GIF8", gif.DecodeConfig, gif.Decode}, // the first frame
		{webpMagic, webp.DecodeConfig, nil},    // see decodeWebP
		{"II*\x00", tiff.DecodeConfig, tiff.Decode},
		{"MM\x00*", tiff.DecodeConfig, tiff.Decode},
		{"BM", bmp.DecodeConfig, bmp.Decode},
	}
}

func codecOf(r io.ReaderAt) (codec, error) {
	head := make([]byte, 12)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return codec{}, err
	}
	for _, c := range codecs() {
		if begins(head[:n], c.magic) {
			return c, nil
		}
	}
	return codec{}, errors.New("unsupported image format")
}

func begins(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '.' && head[i] != magic[i] {
			return false
		}
	}
	return true
}

// Measure reads the size of an image from the header of its file, after rotation by EXIF. The
// rest of the file may be damaged.
func Measure(r io.ReaderAt, size int64) (image.Point, error) {
	_, at, err := measure(io.NewSectionReader(r, 0, size))
	if err != nil {
		return image.Point{}, fmt.Errorf("measure picture: %w", err)
	}
	return orientationOf(r, size).seen(at), nil
}

func measure(file *io.SectionReader) (c codec, size image.Point, err error) {
	defer catch(&err)
	if c, err = codecOf(file); err != nil {
		return c, size, err
	}
	config, err := c.config(file)
	if err != nil {
		return c, size, err
	}
	if config.Width <= 0 || config.Height <= 0 {
		return c, size, fmt.Errorf("its size is %d × %d", config.Width, config.Height)
	}
	return c, image.Pt(config.Width, config.Height), nil
}

// Decode reads a complete image, so that any damage is found. For an animation it reads the first
// frame. If the header has more than maxPixels, the error is [ErrTooLarge] and nothing is decoded.
func Decode(r io.ReaderAt, size int64, maxPixels int) (Picture, error) {
	c, at, err := measure(io.NewSectionReader(r, 0, size))
	if err == nil && at.X > maxPixels/at.Y {
		err = ErrTooLarge
	}
	if err != nil {
		return Picture{}, fmt.Errorf("decode picture: %w", err)
	}
	m, err := c.whole(io.NewSectionReader(r, 0, size), at)
	if err != nil {
		return Picture{}, fmt.Errorf("decode picture: %w", err)
	}
	return Picture{stored: m, turned: orientationOf(r, size)}, nil
}

// whole decodes an image of a known size. The first frame of an animation may be smaller; the
// rest is transparent.
func (c codec) whole(file *io.SectionReader, size image.Point) (m image.Image, err error) {
	defer catch(&err)
	if c.magic == webpMagic {
		if err := checkFrames(file, file.Size(), size); err != nil {
			return nil, err
		}
		m, err = decodeWebP(file)
	} else {
		m, err = c.decode(file)
	}
	if err != nil {
		return nil, err
	}
	if whole := (image.Rectangle{Max: size}); m.Bounds() != whole {
		canvas := image.NewRGBA(whole)
		draw.Draw(canvas, whole, m, image.Point{}, draw.Src)
		m = canvas
	}
	return m, nil
}

// catch converts the panic of a decoder to an error.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the decoder failed: %v", v)
	}
}
