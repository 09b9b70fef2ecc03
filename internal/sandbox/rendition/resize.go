package rendition

import (
	"image"

	"golang.org/x/image/draw"
)

// shrink returns a copy of exactly a size. It halves the image while it is at least twice as
// large, which is much faster. The last step uses Catmull-Rom, which keeps edges sharp.
func shrink(m image.Image, size image.Point) *image.RGBA {
	for m.Bounds().Dx() >= 2*size.X && m.Bounds().Dy() >= 2*size.Y {
		m = halve(m)
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	if m.Bounds().Size() == size {
		draw.Draw(small, small.Rect, m, m.Bounds().Min, draw.Src)
		return small
	}
	scaler(size, m.Bounds().Size()).Scale(small, small.Rect, m, m.Bounds(), draw.Src, nil)
	return small
}

// mostSharp limits the intermediate pixels of the sharp scaler.
const mostSharp = 1 << 20

// scaler returns the sharp scaler if its memory is small compared to the image: 32 bytes for
// each pixel of the new width and old height, and 64 for each old column and row.
func scaler(to image.Point, from image.Point) draw.Scaler {
	const longest = 1 << 16 // pixels
	if to.X > mostSharp/from.Y || max(to.X, to.Y, from.X, from.Y) > longest {
		return draw.ApproxBiLinear
	}
	return draw.CatmullRom
}

// halve averages four pixels to one and drops odd rows and columns.
func halve(m image.Image) image.Image {
	if yuv, ok := m.(*image.YCbCr); ok && yuv.Rect.Min == (image.Point{}) {
		return halveYCbCr(yuv)
	}
	if rgba, ok := m.(*image.RGBA); ok && rgba.Rect.Min == (image.Point{}) {
		return halveRGBA(rgba)
	}
	return halveParts(m)
}

// halveParts converts one part after the other to the colour model for averages, so that only a
// part is copied. Images may be millions of pixels wide, so parts are not strips.
func halveParts(m image.Image) *image.RGBA {
	const side = 512
	b := m.Bounds()
	h := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	part := image.NewRGBA(image.Rect(0, 0, min(side, b.Dx()), min(side, b.Dy())))
	for y := 0; y < h.Rect.Dy(); y += side / 2 {
		for x := 0; x < h.Rect.Dx(); x += side / 2 {
			draw.Draw(part, part.Rect, m, image.Pt(b.Min.X+2*x, b.Min.Y+2*y), draw.Src)
			halveInto(h, image.Rect(x, y, x+side/2, y+side/2).Intersect(h.Rect), part)
		}
	}
	return h
}

// halveYCbCr keeps the colour model of a JPEG, which avoids a conversion.
func halveYCbCr(m *image.YCbCr) *image.YCbCr {
	h := image.NewYCbCr(image.Rect(0, 0, m.Rect.Dx()/2, m.Rect.Dy()/2), m.SubsampleRatio)
	halvePlane(h.Y, h.YStride, m.Y, m.YStride, h.Rect.Dy())
	rows := len(h.Cb) / h.CStride
	halvePlane(h.Cb, h.CStride, m.Cb, m.CStride, rows)
	halvePlane(h.Cr, h.CStride, m.Cr, m.CStride, rows)
	return h
}

// halvePlane averages one plane. If a second row or column is missing, the first counts twice.
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
	halveInto(h, h.Rect, m)
	return h
}

// halveInto fills a part of an image from one that is twice as large.
func halveInto(h *image.RGBA, part image.Rectangle, m *image.RGBA) {
	for y := range part.Dy() {
		top := m.Pix[2*y*m.Stride:]
		bottom := m.Pix[(2*y+1)*m.Stride:]
		row := h.Pix[h.PixOffset(part.Min.X, part.Min.Y+y):][:4*part.Dx()]
		for i := 0; i < len(row); i += 4 {
			t, b := top[2*i:2*i+8], bottom[2*i:2*i+8]
			for k := range 4 {
				row[i+k] = uint8((int(t[k]) + int(t[k+4]) + int(b[k]) + int(b[k+4]) + 2) / 4)
			}
		}
	}
}

// toRGBA returns an image with premultiplied alpha, as needed for averages. It only copies if
// necessary.
func toRGBA(m image.Image) *image.RGBA {
	if rgba, ok := m.(*image.RGBA); ok && rgba.Rect.Min == (image.Point{}) {
		return rgba
	}
	rgba := image.NewRGBA(image.Rectangle{Max: m.Bounds().Size()})
	draw.Draw(rgba, rgba.Rect, m, m.Bounds().Min, draw.Src)
	return rgba
}

// toNRGBA returns an image without premultiplied alpha.
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
