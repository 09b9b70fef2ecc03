package rendition

import (
	"fmt"
	"image"
	"io"
	"math"

	"assetferry/internal/pixels"
)

// Cost estimates the bytes of memory that it takes to decode a picture, from its head.
func Cost(r io.ReaderAt, size int64) (int64, error) {
	at, err := Measure(r, size)
	if err != nil {
		return 0, err
	}
	return pixels.Cost(r, size, at.X, at.Y), nil
}

// encoding is how many bytes for each pixel it takes to encode a picture, as measured.
func (f Format) encoding() int64 {
	switch f {
	case WebP:
		return 20
	case JPEG:
		return 1
	}
	return 6
}

// Within gives the box that a picture has to fit into for a rendition that the memory for
// images is enough for, and what it takes then. The box is that which was asked for, unless
// the picture is a large one.
func Within(r io.ReaderAt, size int64, width, height int, f Format) (box image.Point, cost int64, err error) {
	at, err := Measure(r, size)
	if err != nil {
		return box, 0, err
	}
	decoding := pixels.Cost(r, size, at.X, at.Y)
	box, to := image.Pt(width, height), fit(at, width, height)
	if decoding > pixels.Budget {
		return box, decoding, nil
	}
	if most := (pixels.Budget - decoding) / f.encoding(); area(to) > most {
		scale := math.Sqrt(float64(most) / float64(area(to)))
		to = image.Pt(max(1, int(float64(to.X)*scale)), max(1, int(float64(to.Y)*scale)))
		box = to
	}
	return box, min(pixels.Budget, decoding+area(to)*f.encoding()), nil
}

// Cost estimates the bytes of memory that it takes to decode a picture, to edit it, and to
// encode what it becomes.
func (e Edit) Cost(r io.ReaderAt, size int64, f Format) (int64, error) {
	at, err := Measure(r, size)
	if err != nil {
		return 0, err
	}
	const copies = 2 * 4
	to := e.sizeFrom(at)
	if to.X < 1 || to.Y < 1 || to.X > pixels.Budget || to.Y > pixels.Budget {
		return 0, fmt.Errorf("%w: the size %v is too small or too large", ErrEdit, to)
	}
	return pixels.Cost(r, size, at.X, at.Y) + area(at)*copies + area(to)*(4+f.encoding()), nil
}

func area(size image.Point) int64 { return int64(size.X) * int64(size.Y) }
