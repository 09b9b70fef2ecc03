package demo

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"time"

	"github.com/HugoSmits86/nativewebp"
	"golang.org/x/image/tiff"
)

// A photo is a JPEG picture with the metadata of a camera.
type photo struct {
	scene         func(width, height int) *image.RGBA
	width, height int  // as seen
	turned        bool // stored on its side, with a note how to turn it

	make, model, description string
	taken                    time.Time
	place                    *place // may be nil
}

func (p photo) file(name string) file {
	small := p
	small.width, small.height = p.width/4, p.height/4
	return file{name: name, time: p.taken, content: p.encode, small: small.encode}
}

func (p photo) encode() ([]byte, error) {
	m, orientation := p.scene(p.width, p.height), uint16(1)
	if p.turned {
		m, orientation = rotateLeft(m), 6 // 6: turn right to see it
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 82}); err != nil {
		return nil, err
	}
	return withEXIF(b.Bytes(), exif{photo: p, orientation: orientation, size: m.Rect.Size()}), nil
}

// rotateLeft turns a picture by 90 degrees, against the clock.
func rotateLeft(m *image.RGBA) *image.RGBA {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	turned := image.NewRGBA(image.Rect(0, 0, height, width))
	for y := range height {
		for x := range width {
			turned.SetRGBA(y, width-1-x, m.RGBAAt(x, y))
		}
	}
	return turned
}

func encodePNG(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m)
	return b.Bytes(), err
}

func encodeTIFF(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := tiff.Encode(&b, m, &tiff.Options{Compression: tiff.Deflate, Predictor: true})
	return b.Bytes(), err
}

func encodeWebP(m image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := nativewebp.Encode(&b, m, nil)
	return b.Bytes(), err
}

// encodeGIF writes one picture, or several as an animation without end.
func encodeGIF(frames []*image.RGBA) ([]byte, error) {
	colours := color.Palette{color.RGBA{}, palette(0), palette(1), palette(2), color.RGBA{200, 206, 212, 255}}
	var g gif.GIF
	for _, m := range frames {
		frame := image.NewPaletted(m.Rect, colours)
		draw.Draw(frame, m.Rect, m, m.Rect.Min, draw.Src)
		g.Image = append(g.Image, frame)
		g.Delay = append(g.Delay, 8) // hundredths of a second
		g.Disposal = append(g.Disposal, gif.DisposalBackground)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &g)
	return b.Bytes(), err
}
