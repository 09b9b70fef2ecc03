package answer

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"slices"
	"strings"

	"assetferry/internal/sandbox/rendition"
)

// maxPixels limits the images that are decoded. Larger images have only a known size.
const maxPixels = 40 << 20

// A view is a measured image.
type view struct {
	size    image.Point
	colours []string // the main colours, at most two
	clear   bool     // fully transparent
	broken  bool
}

func measure(data []byte) (image.Point, error) {
	return rendition.Measure(bytes.NewReader(data), int64(len(data)))
}

// look decodes an image.
func look(data []byte) view {
	size, err := measure(data)
	if err != nil {
		return view{broken: true}
	}
	v := view{size: size}
	if size.X > maxPixels/size.Y {
		return v
	}
	p, err := rendition.Decode(bytes.NewReader(data), int64(len(data)), maxPixels)
	if err != nil {
		v.broken = true
		return v
	}
	v.colours, v.clear = colours(p.Fit(32, 32))
	return v
}

// shape returns the orientation of an image.
func (v view) shape() string {
	switch {
	case v.broken:
		return "damaged"
	case v.size.X > v.size.Y:
		return "landscape"
	case v.size.X < v.size.Y:
		return "portrait"
	}
	return "square"
}

// String describes the image, such as "a landscape picture of 1024 by 683 pixels, mostly slate
// blue and sand".
func (v view) String() string {
	if v.broken {
		return "a picture that cannot be read"
	}
	text := fmt.Sprintf("a %s picture of %d by %d pixels", v.shape(), v.size.X, v.size.Y)
	if v.clear {
		return text + ", all of it transparent"
	}
	if len(v.colours) > 0 {
		text += ", mostly " + strings.Join(v.colours, " and ")
	}
	return text
}

// colours returns the most frequent named colours of a small image on white.
func colours(m image.Image) (most []string, clear bool) {
	counts := map[string]int{}
	clear = true
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			_, _, _, alpha := m.At(x, y).RGBA()
			clear = clear && alpha == 0
			counts[named(onWhite(m.At(x, y)))]++
		}
	}
	if clear {
		return nil, true
	}
	for name := range counts {
		most = append(most, name)
	}
	slices.SortFunc(most, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	if len(most) > 1 && counts[most[1]]*8 < b.Dx()*b.Dy() { // rare
		return most[:1], false
	}
	return most[:min(2, len(most))], false
}

func onWhite(c color.Color) [3]int {
	r, g, b, a := c.RGBA()
	channel := func(v uint32) int { return int((v + 0xFFFF - a) >> 8) }
	return [3]int{channel(r), channel(g), channel(b)}
}

// named returns the common name of the nearest colour.
func named(c [3]int) string {
	best, name := 1<<30, ""
	for _, n := range palette() {
		// The human eye distinguishes greens best and blues least.
		dr, dg, db := c[0]-n.red, c[1]-n.green, c[2]-n.blue
		if distance := 3*dr*dr + 4*dg*dg + 2*db*db; distance < best {
			best, name = distance, n.name
		}
	}
	return name
}

type colour struct {
	red, green, blue int
	name             string
}

func palette() []colour {
	return []colour{
		{0, 0, 0, "black"}, {64, 64, 64, "dark grey"}, {128, 128, 128, "grey"}, {192, 192, 192, "light grey"}, {255, 255, 255, "white"},
		{200, 30, 30, "red"}, {120, 20, 30, "dark red"}, {255, 120, 110, "coral"}, {255, 190, 200, "pink"}, {230, 50, 140, "magenta"},
		{240, 130, 30, "orange"}, {250, 220, 60, "yellow"}, {240, 230, 180, "cream"}, {215, 190, 140, "sand"}, {160, 110, 60, "brown"}, {85, 55, 35, "dark brown"},
		{60, 160, 60, "green"}, {25, 80, 40, "dark green"}, {170, 220, 150, "light green"}, {120, 120, 50, "olive"}, {40, 150, 150, "teal"},
		{40, 80, 200, "blue"}, {20, 30, 90, "navy blue"}, {105, 125, 150, "slate blue"}, {150, 200, 240, "sky blue"}, {60, 200, 230, "turquoise"},
		{120, 60, 170, "purple"}, {200, 170, 225, "lilac"},
	}
}
