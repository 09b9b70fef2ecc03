package rendition

import (
	"errors"
	"fmt"
	"image"
)

// An Edit crops, rotates, mirrors and resizes an image, in this order. The zero value changes
// nothing.
type Edit struct {
	Crop             image.Rectangle // empty: the whole image
	Quarters         int             // clockwise
	MirrorX, MirrorY bool            // horizontally; vertically
	Size             image.Point     // a side of 0 keeps the aspect ratio
}

// ErrEdit reports an edit that is impossible for an image.
var ErrEdit = errors.New("the image cannot be edited in this way")

// Edit returns an edited copy with at most maxPixels.
func (p Picture) Edit(e Edit, maxPixels int) (image.Image, error) {
	m := toRGBA(p.Fit(0, 0))
	if !e.Crop.Empty() {
		if !e.Crop.In(m.Rect) {
			return nil, fmt.Errorf("%w: the area %v is not within %v", ErrEdit, e.Crop, m.Rect)
		}
		m = toRGBA(m.SubImage(e.Crop))
	}
	m = turnedBy(e.Quarters).rotate(m)
	if e.MirrorX {
		m = mirrorX.rotate(m)
	}
	if e.MirrorY {
		m = mirrorY.rotate(m)
	}
	size := e.sizeFrom(m.Rect.Size())
	if size.X < 1 || size.Y < 1 || size.X > maxPixels/size.Y {
		return nil, fmt.Errorf("%w: the size %v is too small or too large", ErrEdit, size)
	}
	if size != m.Rect.Size() {
		m = shrink(m, size) // or enlarge
	}
	return m, nil
}

const (
	mirrorX orientation = 2
	mirrorY orientation = 4
)

// turnedBy returns the orientation that a number of clockwise rotations reverses.
func turnedBy(quarters int) orientation {
	return [4]orientation{upright, 6, 3, 8}[(quarters%4+4)%4]
}

func (e Edit) sizeFrom(was image.Point) image.Point {
	size := e.Size
	switch {
	case size == image.Point{}:
		return was
	case size.X == 0:
		size.X = max(1, (was.X*size.Y+was.Y/2)/was.Y)
	case size.Y == 0:
		size.Y = max(1, (was.Y*size.X+was.X/2)/was.X)
	}
	return size
}
