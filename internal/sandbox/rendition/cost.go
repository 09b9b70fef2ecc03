package rendition

import (
	"fmt"
	"image"
	"io"
	"math"

	"assetferry/internal/pixels"
)

// Cost estimates the memory for decoding an image from its header, in bytes.
func Cost(r io.ReaderAt, size int64) (int64, error) {
	at, err := Measure(r, size)
	if err != nil {
		return 0, err
	}
	return pixels.Cost(r, size, at.X, at.Y), nil
}

// encoding returns the bytes per pixel for encoding an image with its result, as measured with
// noise. Transparency needs separate planes, or a copy on white.
func (f Format) encoding(opaque bool) int64 {
	switch {
	case f == WebP && opaque:
		return 28
	case f == WebP:
		return 80
	case f == JPEG && opaque:
		return 1
	case f == JPEG:
		return 6
	case f == TIFF:
		return 22
	}
	return 17
}

// counting returns the bytes for counting the colours of an image, limited by the number of
// buckets.
func (f Format) counting(pixels int64) int64 {
	const tables, perColour = 2 << 20, 120
	if f == PNG || f == GIF {
		return tables + perColour*min(pixels, buckets)
	}
	return 0
}

// Within returns the bounding box of a rendition that fits into the memory for images, and its
// cost. It is the requested box, unless the image is large.
func Within(r io.ReaderAt, size int64, width, height int, f Format) (box image.Point, cost int64, err error) {
	at, err := Measure(r, size)
	if err != nil {
		return box, 0, err
	}
	decoding := pixels.Cost(r, size, at.X, at.Y)
	box, to := image.Pt(width, height), fit(at, width, height)
	if decoding > pixels.MemoryLimit {
		return box, decoding, nil
	}
	const copied, sharpening = 4, 32 // see scaler
	perPixel, turned := f.encoding(isOpaqueFile(r, size)), orientationOf(r, size) != upright
	if turned {
		perPixel += 2 * copied
	}
	takes := func(to image.Point) int64 {
		cost := decoding + area(to)*perPixel + f.counting(area(to))
		if to != at {
			cost += sharpening * min(mostSharp, 2*area(to))
			if !turned {
				cost += area(to) * copied
			}
		}
		return cost
	}
	for takes(to) > pixels.MemoryLimit && to != image.Pt(1, 1) {
		scale := min(0.95, math.Sqrt(float64(pixels.MemoryLimit-decoding)/float64(takes(to)-decoding)))
		to = image.Pt(max(1, int(float64(to.X)*scale)), max(1, int(float64(to.Y)*scale)))
		box = to
	}
	return box, min(pixels.MemoryLimit, takes(to)), nil
}

// isOpaqueFile reports whether the header of an image excludes transparency.
func isOpaqueFile(r io.ReaderAt, size int64) bool {
	const opaque, colourAt = "VP8 ", 9
	head, _ := readAt(r, 0, 16)
	switch {
	case begins(head, "\xff\xd8"):
		return true
	case begins(head, webpMagic):
		return string(head[12:]) == opaque
	case !begins(head, "\x89PNG\r\n\x1a\n"):
		return false
	}
	for c := range chunks(r, size, 8, pngChunk) {
		switch c.name {
		case "IHDR":
			if ihdr, _ := readAt(r, c.body, colourAt+1); ihdr[colourAt] != 0 && ihdr[colourAt] != 2 {
				return false // a palette or an alpha channel
			}
		case "tRNS":
			return false
		case "IDAT":
			return true
		}
	}
	return false
}

// Cost estimates the memory for decoding, editing and encoding an image, in bytes.
func (e Edit) Cost(r io.ReaderAt, size int64, f Format) (int64, error) {
	at, err := Measure(r, size)
	if err != nil {
		return 0, err
	}
	const copies = 2 * 4
	to := e.sizeFrom(at)
	if to.X < 1 || to.Y < 1 || to.X > pixels.MemoryLimit || to.Y > pixels.MemoryLimit {
		return 0, fmt.Errorf("%w: the size %v is too small or too large", ErrEdit, to)
	}
	return pixels.Cost(r, size, at.X, at.Y) + area(at)*copies + area(to)*(4+f.encoding(isOpaqueFile(r, size))) + f.counting(area(to)), nil
}

func area(size image.Point) int64 { return int64(size.X) * int64(size.Y) }
