package picture

import (
	"bytes"
	"image"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"

	"assetferry/internal/metadata"
)

// shrink returns an image with a longer side of at most this many pixels. It halves the image while
// it is at least twice as large. Halving averages four pixels into one and needs little extra
// memory; better kernels need 32 bytes for each intermediate pixel.
func shrink(m image.Image, side int) image.Image {
	for {
		width, height := m.Bounds().Dx(), m.Bounds().Dy()
		longer := max(width, height)
		if longer <= side {
			return m
		}
		to := max(side, (longer+1)/2)
		small := image.NewRGBA(image.Rect(0, 0, scaled(width, to, longer), scaled(height, to, longer)))
		draw.ApproxBiLinear.Scale(small, small.Rect, m, m.Bounds(), draw.Src, nil)
		m = small
	}
}

func scaled(length, to, from int) int { return max(1, (length*to+from/2)/from) }

// orientation returns the EXIF orientation of an image; 1 is upright. It returns 1 if the value is
// missing, damaged or out of range.
func orientation(content []byte) int {
	found, _, err := metadata.Embedded(bytes.NewReader(content), int64(len(content)))
	values := found[metadata.FromEXIF]["exif.Orientation"]
	if err != nil || len(values) != 1 || len(values[0]) != 1 || values[0][0] < '1' || values[0][0] > '8' {
		return 1
	}
	return int(values[0][0] - '0')
}

// rotate returns an image rotated and flipped to be upright.
func rotate(m image.Image, orientation int) image.Image {
	if orientation == 1 {
		return m
	}
	b := m.Bounds()
	w, h := float64(b.Dx()), float64(b.Dy())
	to := [...]f64.Aff3{ // from stored to displayed coordinates
		2: {-1, 0, w, 0, 1, 0},
		3: {-1, 0, w, 0, -1, h},
		4: {1, 0, 0, 0, -1, h},
		5: {0, 1, 0, 1, 0, 0},
		6: {0, -1, h, 1, 0, 0},
		7: {0, -1, h, -1, 0, w},
		8: {0, 1, 0, -1, 0, w},
	}[orientation]
	size := b.Size()
	if orientation >= 5 {
		size.X, size.Y = size.Y, size.X
	}
	turned := image.NewRGBA(image.Rectangle{Max: size})
	x, y := float64(b.Min.X), float64(b.Min.Y)
	to[2] -= to[0]*x + to[1]*y
	to[5] -= to[3]*x + to[4]*y
	draw.NearestNeighbor.Transform(turned, to, m, b, draw.Src, nil)
	return turned
}
