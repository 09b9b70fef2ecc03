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

// A codec decodes files that begin in a certain way; a dot stands for any byte.
type codec struct {
	magic  string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// codecs are chosen by what is in a file, not by its name. They are not taken from
// the registry of package image, where the order of imports decides.
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
	return codec{}, errors.New("it is not a picture of a known kind")
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

// Measure reads the size of a picture from the head of its file, as it is seen:
// turned as its EXIF says. What comes after the head may be damaged.
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

// Decode reads a whole picture, so that damage anywhere in it is found. Of an
// animation it reads the first frame. If its head promises more than maxPixels,
// the error is [ErrTooLarge] and nothing is decoded.
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

// whole decodes a picture of a size. The first frame of an animation may be a part
// of it; the rest is transparent then.
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

// catch turns the panic of a decoder that trips over strange bytes into an error.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the decoder gave up: %v", v)
	}
}
