package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"slices"

	"golang.org/x/image/draw"
)

const (
	drawingBytes = 1 << 20 // size of a PNG above which even a drawing becomes a JPEG
	leastSide    = 64      // in pixels; models recognize nothing in smaller images
)

// encode returns an image as a file within the limits. It reduces the quality first, and then the
// size.
func encode(ctx context.Context, m image.Image, drawing bool, limits Limits) (Picture, error) {
	for side := limits.Side; ; side = side * 3 / 4 {
		m = shrink(m, side)
		for _, try := range tries(m, drawing, limits) {
			if err := ctx.Err(); err != nil {
				return Picture{}, context.Cause(ctx)
			}
			var b bytes.Buffer
			if err := try.encode(&b); err != nil {
				return Picture{}, fmt.Errorf("encode %s: %w", try.kind, err)
			}
			if int64(b.Len()) <= try.most {
				return Picture{Data: b.Bytes(), Type: try.kind, Width: m.Bounds().Dx(), Height: m.Bounds().Dy()}, nil
			}
		}
		if side <= leastSide {
			return Picture{}, fmt.Errorf("%w: scaled to %d pixels, it still exceeds %d bytes", ErrTooLarge, max(m.Bounds().Dx(), m.Bounds().Dy()), limits.Bytes)
		}
	}
}

// A try is one way to encode an image.
type try struct {
	kind   string
	most   int64 // bytes
	encode func(*bytes.Buffer) error
}

// tries returns the ways to encode an image in one size, the best first.
func tries(m image.Image, drawing bool, limits Limits) []try {
	var all []try
	takesJPEG := slices.Contains(limits.Types, JPEG)
	if slices.Contains(limits.Types, PNG) && (drawing || !takesJPEG) {
		most := limits.Bytes
		if takesJPEG {
			most = min(most, drawingBytes)
		}
		all = append(all, try{PNG, most, func(b *bytes.Buffer) error { return png.Encode(b, visible(m)) }})
	}
	if takesJPEG {
		flat := onWhite(m)
		for _, quality := range [...]int{85, 70, 50} {
			all = append(all, try{JPEG, limits.Bytes, func(b *bytes.Buffer) error { return jpeg.Encode(b, flat, &jpeg.Options{Quality: quality}) }})
		}
	}
	return all
}

// visible returns an image without the colours of fully transparent pixels.
func visible(m image.Image) image.Image {
	if _, ok := m.(*image.Paletted); ok {
		return m
	}
	seen := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(seen, seen.Rect, m, m.Bounds().Min, draw.Src)
	return seen
}

// onWhite returns an image on a white background.
func onWhite(m image.Image) *image.RGBA {
	flat := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(flat, flat.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(flat, flat.Rect, m, m.Bounds().Min, draw.Over)
	return flat
}
