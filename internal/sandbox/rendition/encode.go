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

// Encode writes an image. Quality is from 1 to 100. Its meaning is a guess except for JPEG and
// WebP: PNG and GIF below 100 use that percentage of 256 colours; TIFF is always lossless. JPEG
// images are placed on white; GIF pixels are opaque or transparent.
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

// plain converts an image in a colour model of photos to one that lossless encoders process
// without a call per pixel. Greys, palettes and 16 bits per channel do not change.
func plain(m image.Image) image.Image {
	switch m.(type) {
	case *image.YCbCr, *image.NYCbCrA, *image.CMYK:
		return toNRGBA(m)
	}
	return m
}

// onWhite places an image on white.
func onWhite(m image.Image) image.Image {
	if isOpaque(m) {
		return m
	}
	flat := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, m, m.Bounds().Min, draw.Over)
	return flat
}

// hardEdges makes every pixel opaque or transparent. Pixels with at least half opacity become
// opaque on white.
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

// colours returns the size of a palette.
func colours(quality int) int { return max(2, 256*quality/100) }
