package rendition

import (
	"image"

	"golang.org/x/image/draw"
)

// shrink gives a copy of exactly a size. As long as the picture is twice as large
// or more it is halved, which is many times faster than what follows: the last
// step, by less than half, is Catmull-Rom's, which keeps edges sharp.
func shrink(m image.Image, size image.Point) *image.RGBA {
	for m.Bounds().Dx() >= 2*size.X && m.Bounds().Dy() >= 2*size.Y {
		m = halve(m)
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	if m.Bounds().Size() == size {
		draw.Draw(small, small.Rect, m, m.Bounds().Min, draw.Src)
		return small
	}
	scaler(size.X, m.Bounds().Dy()).Scale(small, small.Rect, m, m.Bounds(), draw.Src, nil)
	return small
}

// scaler is the sharp one as long as what it takes, 32 bytes for each pixel of the new width
// and the old height, is little beside the picture.
func scaler(width, height int) draw.Scaler {
	const most = 1 << 20 // pixels
	if width > most/height {
		return draw.ApproxBiLinear
	}
	return draw.CatmullRom
}

// halve makes one pixel of four. What is over at an odd side is left out.
func halve(m image.Image) image.Image {
	if yuv, ok := m.(*image.YCbCr); ok && yuv.Rect.Min == (image.Point{}) {
		return halveYCbCr(yuv)
	}
	if rgba, ok := m.(*image.RGBA); ok && rgba.Rect.Min == (image.Point{}) {
		return halveRGBA(rgba)
	}
	return halveStrips(m)
}

// halveStrips turns a strip after the other into the model that averages are made in,
// which takes a copy of a few rows rather than of the whole picture.
func halveStrips(m image.Image) *image.RGBA {
	const rows = 64
	b := m.Bounds()
	h := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), rows))
	for y := 0; y < h.Rect.Dy(); y += rows / 2 {
		draw.Draw(strip, strip.Rect, m, image.Pt(b.Min.X, b.Min.Y+2*y), draw.Src)
		part := halveRGBA(strip)
		copy(h.Pix[y*h.Stride:], part.Pix)
	}
	return h
}

// halveYCbCr keeps the colours of a photo as JPEG has them, which saves turning
// all of its pixels into another model.
func halveYCbCr(m *image.YCbCr) *image.YCbCr {
	h := image.NewYCbCr(image.Rect(0, 0, m.Rect.Dx()/2, m.Rect.Dy()/2), m.SubsampleRatio)
	halvePlane(h.Y, h.YStride, m.Y, m.YStride, h.Rect.Dy())
	rows := len(h.Cb) / h.CStride
	halvePlane(h.Cb, h.CStride, m.Cb, m.CStride, rows)
	halvePlane(h.Cr, h.CStride, m.Cr, m.CStride, rows)
	return h
}

// halvePlane averages one plane. Where the source has no second row or column,
// because an odd side was rounded up, the first counts twice.
func halvePlane(to []uint8, stride int, from []uint8, fromStride, rows int) {
	for y := range rows {
		top := from[2*y*fromStride:]
		bottom := top
		if len(top) > fromStride {
			bottom = top[fromStride:]
		}
		row := to[y*stride : (y+1)*stride]
		for x := range row {
			a := 2 * x
			b := min(a+1, fromStride-1, len(top)-1, len(bottom)-1)
			a = min(a, b)
			row[x] = uint8((int(top[a]) + int(top[b]) + int(bottom[a]) + int(bottom[b]) + 2) / 4)
		}
	}
}

func halveRGBA(m *image.RGBA) *image.RGBA {
	h := image.NewRGBA(image.Rect(0, 0, m.Rect.Dx()/2, m.Rect.Dy()/2))
	for y := range h.Rect.Dy() {
		top := m.Pix[2*y*m.Stride:]
		bottom := m.Pix[(2*y+1)*m.Stride:]
		row := h.Pix[y*h.Stride : (y+1)*h.Stride]
		for i := 0; i < len(row); i += 4 {
			t, b := top[2*i:2*i+8], bottom[2*i:2*i+8]
			for k := range 4 {
				row[i+k] = uint8((int(t[k]) + int(t[k+4]) + int(b[k]) + int(b[k+4]) + 2) / 4)
			}
		}
	}
	return h
}

// toRGBA gives a picture with colours that are multiplied by their opacity, which
// is what averages have to be made of. It is a copy only if it has to be.
func toRGBA(m image.Image) *image.RGBA {
	if rgba, ok := m.(*image.RGBA); ok && rgba.Rect.Min == (image.Point{}) {
		return rgba
	}
	rgba := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(rgba, rgba.Rect, m, m.Bounds().Min, draw.Src)
	return rgba
}

// toNRGBA gives a picture with colours that do not depend on their opacity.
func toNRGBA(m image.Image) *image.NRGBA {
	if nrgba, ok := m.(*image.NRGBA); ok && nrgba.Rect.Min == (image.Point{}) {
		return nrgba
	}
	nrgba := image.NewNRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(nrgba, nrgba.Rect, m, m.Bounds().Min, draw.Src)
	return nrgba
}

func isOpaque(m image.Image) bool {
	o, ok := m.(interface{ Opaque() bool })
	return ok && o.Opaque()
}
