package rendition

import (
	"image"
	"math"
)

// A Picture is a decoded image.
type Picture struct {
	stored image.Image
	turned orientation
}

// Size returns the size of the upright image.
func (p Picture) Size() image.Point { return p.turned.seen(p.stored.Bounds().Size()) }

// Fit returns the upright image scaled to fit into a box, never enlarged. A side of 0 is no
// bound.
func (p Picture) Fit(width, height int) image.Image {
	size := fit(p.Size(), width, height)
	if size == p.Size() && p.turned == upright {
		return p.stored
	}
	stored := p.turned.seen(size) // the swap of sides is its own inverse
	return p.turned.rotate(shrink(p.stored, stored))
}

// fit scales a size to fit into a box.
func fit(size image.Point, width, height int) image.Point {
	scale := 1.0
	if width > 0 {
		scale = min(scale, float64(width)/float64(size.X))
	}
	if height > 0 {
		scale = min(scale, float64(height)/float64(size.Y))
	}
	side := func(n int) int { return max(1, int(math.Round(float64(n)*scale))) }
	return image.Pt(side(size.X), side(size.Y))
}
