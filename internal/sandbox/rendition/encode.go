package rendition

import (
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
)

// Encode writes a picture. Quality is from 1 to 100, and what it means is a guess
// for all formats but JPEG and WebP: below 100, PNG and GIF have that part of 256
// colours; TIFF loses nothing whatever it says. JPEG knows no transparency, so
// there the picture lies on white; GIF knows all of it or nothing.
func Encode(w io.Writer, m image.Image, f Format, quality int) error {
	var err error
	switch f {
	case WebP:
		err = encodeWebP(w, m, quality)
	case JPEG:
		err = jpeg.Encode(w, onWhite(m), &jpeg.Options{Quality: quality})
	case PNG:
		err = encodePNG(w, m, quality)
	case GIF:
		err = gif.Encode(w, quantise(hardEdges(m), colours(quality)), nil)
	case TIFF:
		err = tiff.Encode(w, plain(m), &tiff.Options{Compression: tiff.Deflate, Predictor: true})
	default:
		return fmt.Errorf("encode picture: no format %q", f)
	}
	if err != nil {
		return fmt.Errorf("encode picture as %s: %w", f, err)
	}
	return nil
}

func encodePNG(w io.Writer, m image.Image, quality int) error {
	if quality < 100 {
		m = quantise(toNRGBA(m), colours(quality))
	}
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, plain(m))
}

// plain turns a picture in one of the colour models of photos into one that the
// lossless encoders know without asking for every pixel. Greys, palettes and 16
// bits a channel stay what they are.
func plain(m image.Image) image.Image {
	switch m.(type) {
	case *image.YCbCr, *image.NYCbCrA, *image.CMYK:
		return toNRGBA(m)
	}
	return m
}

// onWhite puts what is transparent on white.
func onWhite(m image.Image) image.Image {
	if isOpaque(m) {
		return m
	}
	flat := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, m, m.Bounds().Min, draw.Over)
	return flat
}

// hardEdges makes every pixel opaque or transparent. What is in between counts as
// opaque from one half on, on white.
func hardEdges(m image.Image) *image.NRGBA {
	if isOpaque(m) {
		return toNRGBA(m)
	}
	hard := toNRGBA(onWhite(m))
	soft := toNRGBA(m)
	for i := 3; i < len(hard.Pix); i += 4 {
		if soft.Pix[i] < 128 {
			hard.Pix[i] = 0
		}
	}
	return hard
}

// colours is the size of a palette.
func colours(quality int) int { return max(2, 256*quality/100) }
