package demo

import (
	"bytes"
	"image"
	"image/color"
)

// Pictures are drawn with whole numbers only: floating point may round in
// another way on another processor, and the bytes would differ.

// dice is a small generator of numbers that look random.
type dice uint64

// roll returns a number from 0 to n-1.
func (d *dice) roll(n int) int {
	*d += 0x9e3779b97f4a7c15 // splitmix64
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 33 % uint64(n))
}

func (d *dice) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.roll(256))
	}
	return b
}

// colour returns one of a range of colours.
func (d *dice) colour(low, high int) color.RGBA {
	c := func() uint8 { return uint8(low + d.roll(high-low)) }
	return color.RGBA{c(), c(), c(), 255}
}

// mix returns the colour at a step between a and b.
func mix(a, b color.RGBA, step, steps int) color.RGBA {
	between := func(a, b uint8) uint8 { return uint8((int(a)*(steps-step) + int(b)*step) / steps) }
	return color.RGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), between(a.A, b.A)}
}

// gradient fills an area from top to bottom.
func gradient(m *image.RGBA, area image.Rectangle, top, bottom color.RGBA) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		fill(m, image.Rect(area.Min.X, y, area.Max.X, y+1), mix(top, bottom, y-area.Min.Y, area.Dy()))
	}
}

func fill(m *image.RGBA, area image.Rectangle, c color.RGBA) {
	area = area.Intersect(m.Rect)
	if area.Empty() {
		return
	}
	row := bytes.Repeat([]byte{c.R, c.G, c.B, c.A}, area.Dx())
	for y := area.Min.Y; y < area.Max.Y; y++ {
		copy(m.Pix[m.PixOffset(area.Min.X, y):], row)
	}
}

// ellipse fills an ellipse around a centre.
func ellipse(m *image.RGBA, x, y, rx, ry int, c color.RGBA) {
	a, b := int64(rx*rx), int64(ry*ry)
	for dy := -ry; dy <= ry; dy++ {
		for dx := -rx; dx <= rx; dx++ {
			if int64(dx*dx)*b+int64(dy*dy)*a <= a*b {
				set(m, x+dx, y+dy, c)
			}
		}
	}
}

// triangle fills a triangle that stands on its base.
func triangle(m *image.RGBA, x, base, width, height int, c color.RGBA) {
	for row := range height {
		half := width * row / height / 2
		fill(m, image.Rect(x-half, base-height+row, x+half, base-height+row+1), c)
	}
}

func set(m *image.RGBA, x, y int, c color.RGBA) {
	if (image.Point{x, y}).In(m.Rect) {
		m.SetRGBA(x, y, c)
	}
}

// grain adds the noise of a sensor, without which photos would be too small.
func grain(m *image.RGBA, d *dice, strength int) {
	for i := 0; i < len(m.Pix); i += 4 {
		n := d.roll(2*strength+1) - strength
		for j := i; j < i+3; j++ {
			m.Pix[j] = uint8(min(255, max(0, int(m.Pix[j])+n)))
		}
	}
}

// ridge fills everything below a mountain line.
func ridge(m *image.RGBA, d *dice, base, height, bottom int, c color.RGBA) {
	const peaks = 9
	var tops [peaks + 1]int
	for i := range tops {
		tops[i] = base - d.roll(height)
	}
	width := m.Rect.Dx()
	for x := range width {
		i := x * peaks / width
		from, to := i*width/peaks, (i+1)*width/peaks
		top := (tops[i]*(to-x) + tops[i+1]*(x-from)) / (to - from)
		fill(m, image.Rect(x, top, x+1, bottom), c)
	}
}

// harbourScene draws sky, mountains, water and boats.
func harbourScene(width, height int, d dice) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	horizon := height * 3 / 5
	sky := d.colour(120, 250)
	low := color.RGBA{255, uint8(180 + d.roll(60)), uint8(120 + d.roll(100)), 255}
	gradient(m, image.Rect(0, 0, width, horizon), sky, low)
	ellipse(m, d.roll(width), horizon-d.roll(height/3), height/14, height/14, color.RGBA{255, 244, 214, 255})

	far, near := mix(sky, low, 1, 2), d.colour(20, 70)
	for layer := range 3 {
		ridge(m, &d, horizon-height/20*(2-layer), height/5, horizon, mix(far, near, layer+1, 3))
	}
	gradient(m, image.Rect(0, horizon, width, height), mix(low, near, 1, 2), near)
	for range height / 2 { // light on the waves
		x, y := d.roll(width), horizon+d.roll(height-horizon)
		fill(m, image.Rect(x, y, x+width/40+d.roll(width/20), y+1), mix(low, near, 1, 3))
	}
	for range 2 + d.roll(4) {
		size := height/16 + d.roll(height/8)
		x, y := d.roll(width), horizon+size/2+d.roll((height-horizon)*2/3)
		triangle(m, x, y, size, size*3/2, color.RGBA{240, 236, 224, 255})
		fill(m, image.Rect(x-size*2/3, y, x+size*2/3, y+size/4), d.colour(60, 200))
	}
	grain(m, &d, 5)
	return m
}

// marketScene draws rows of stalls with awnings.
func marketScene(width, height int, d dice) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	gradient(m, m.Rect, color.RGBA{190, 214, 235, 255}, color.RGBA{150, 135, 120, 255})
	stall := width / 6
	for row := range 3 {
		top := height/5 + row*height/4
		for x := -d.roll(stall); x < width; x += stall + stall/8 {
			a, b := d.colour(90, 255), color.RGBA{245, 240, 230, 255}
			for stripe := range 8 {
				c := a
				if stripe%2 == 1 {
					c = b
				}
				fill(m, image.Rect(x+stripe*stall/8, top, x+(stripe+1)*stall/8, top+height/14), c)
			}
			fill(m, image.Rect(x, top+height/8, x+stall, top+height/5), color.RGBA{110, 80, 55, 255})
			for range 14 { // fruit
				ellipse(m, x+d.roll(stall), top+height/8-d.roll(height/30), stall/16, stall/16, d.colour(60, 250))
			}
		}
	}
	grain(m, &d, 6)
	return m
}

// portraitScene draws a head and shoulders.
func portraitScene(width, height int, d dice) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	gradient(m, m.Rect, d.colour(150, 230), d.colour(60, 130))
	skin := mix(color.RGBA{92, 58, 40, 255}, color.RGBA{244, 212, 188, 255}, d.roll(9), 8)
	hair := d.colour(20, 120)
	ellipse(m, width/2, height, width*2/5, height*2/5, d.colour(40, 200))
	ellipse(m, width/2, height*2/5, width/5, height/5, hair)
	fill(m, image.Rect(width*9/20, height/2, width*11/20, height*13/20), skin)
	ellipse(m, width/2, height*9/20, width/6, height/6, skin)
	for _, side := range []int{-1, 1} {
		ellipse(m, width/2+side*width/16, height*17/40, width/60, width/60, color.RGBA{30, 30, 30, 255})
	}
	fill(m, image.Rect(width*19/40, height*21/40, width*21/40, height*21/40+height/100), color.RGBA{150, 60, 60, 255})
	grain(m, &d, 4)
	return m
}

// scanScene draws an old page with lines of ink.
func scanScene(width, height int, d dice) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	gradient(m, m.Rect, color.RGBA{238, 226, 196, 255}, color.RGBA{222, 204, 166, 255})
	for y := height / 10; y < height*9/10; y += height / 40 {
		for x := width / 10; x < width*9/10; {
			word := width/40 + d.roll(width/9)
			fill(m, image.Rect(x, y, min(x+word, width*9/10), y+2), color.RGBA{66, 50, 40, 255})
			x += word + width/50
		}
	}
	return m
}

// bannerScene draws a row of coloured bands.
func bannerScene(width, height int, d dice) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	const bands = 6
	for i := range bands {
		gradient(m, image.Rect(i*width/bands, 0, (i+1)*width/bands, height), d.colour(80, 255), d.colour(40, 200))
	}
	return m
}

// palette returns one of the colours of the brand.
func palette(i int) color.RGBA {
	colours := []color.RGBA{{12, 74, 110, 255}, {190, 60, 40, 255}, {255, 255, 255, 255}}
	return colours[i%len(colours)]
}

// logo draws a ring around a sail, with a transparent or a grey background.
func logo(size int, c color.RGBA, transparent bool) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	ground := color.RGBA{}
	if !transparent {
		ground = color.RGBA{236, 238, 240, 255}
	}
	fill(m, m.Rect, ground)
	ellipse(m, size/2, size/2, size*9/20, size*9/20, c)
	ellipse(m, size/2, size/2, size*8/20, size*8/20, ground)
	triangle(m, size/2, size*13/20, size/3, size*2/5, c)
	fill(m, image.Rect(size*3/10, size*27/40, size*7/10, size*29/40), c)
	return m
}

// spinner returns the frames of a rotating dot.
func spinner(size, frames int) []*image.RGBA {
	// Twelve places on a circle, in hundredths of its radius.
	places := [12]image.Point{{0, -100}, {50, -87}, {87, -50}, {100, 0}, {87, 50}, {50, 87}, {0, 100}, {-50, 87}, {-87, 50}, {-100, 0}, {-87, -50}, {-50, -87}}
	var all []*image.RGBA
	for f := range frames {
		m := image.NewRGBA(image.Rect(0, 0, size, size))
		for i, p := range places {
			c := color.RGBA{200, 206, 212, 255}
			if i == f%len(places) {
				c = palette(0)
			}
			ellipse(m, size/2+p.X*size*3/800, size/2+p.Y*size*3/800, size/14, size/14, c)
		}
		all = append(all, m)
	}
	return all
}
