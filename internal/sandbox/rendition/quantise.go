package rendition

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// Colours are counted in buckets: five bits each of red, green and blue, and three of opacity.
const buckets = 1 << 18

func bucketOf(r, g, b, a uint8) int {
	return int(r>>3)<<13 | int(g>>3)<<8 | int(b>>3)<<3 | int(a>>5)
}

// A bucket contains the number and the sum of its colours.
type bucket struct {
	count int
	sum   [4]int
}

func (b bucket) mean(channel int) int { return b.sum[channel] / b.count }

// quantise reduces an image to a number of colours. Median cut selects the palette, and errors
// are passed to neighbouring pixels, so that gradients stay smooth. Fully transparent pixels
// have their own entry.
func quantise(m *image.NRGBA, colours int) *image.Paletted {
	counted, transparent := countColours(m)
	q := &quantiser{nearest: make([]int16, buckets)}
	if transparent {
		q.palette = append(q.palette, color.NRGBA{})
	}
	for _, box := range medianCut(counted, colours-len(q.palette)) {
		q.palette = append(q.palette, box.colour())
	}
	return q.paint(m)
}

func countColours(m *image.NRGBA) (counted []bucket, transparent bool) {
	index := make([]int32, buckets) // index in counted plus one
	for p := range slices.Chunk(m.Pix, 4) {
		if p[3] == 0 {
			transparent = true
			continue
		}
		key := bucketOf(p[0], p[1], p[2], p[3])
		if index[key] == 0 {
			counted = append(counted, bucket{})
			index[key] = int32(len(counted))
		}
		b := &counted[index[key]-1]
		b.count++
		for i := range 4 {
			b.sum[i] += int(p[i])
		}
	}
	return counted, transparent
}

// A box is a set of buckets with one colour.
type box struct {
	buckets []bucket
	channel int // channel with the largest difference
	spread  int // gain of a split
}

func newBox(bs []bucket) box {
	b := box{buckets: bs}
	for channel := range 4 {
		low, high, count := 255, 0, 0
		for _, bk := range bs {
			low, high = min(low, bk.mean(channel)), max(high, bk.mean(channel))
			count += bk.count
		}
		if spread := (high - low) * (high - low) * count; spread > b.spread {
			b.channel, b.spread = channel, spread
		}
	}
	return b
}

func (b box) colour() color.NRGBA {
	var all bucket
	for _, bk := range b.buckets {
		all.count += bk.count
		for i := range 4 {
			all.sum[i] += bk.sum[i]
		}
	}
	channel := func(i int) uint8 { return uint8((all.sum[i] + all.count/2) / all.count) }
	return color.NRGBA{channel(0), channel(1), channel(2), channel(3)}
}

// medianCut splits the boxes with the largest gain until there are enough boxes or all have one
// colour.
func medianCut(all []bucket, boxes int) []box {
	if len(all) == 0 {
		return nil
	}
	cut := []box{newBox(all)}
	for len(cut) < boxes {
		widest := 0
		for i := range cut {
			if cut[i].spread > cut[widest].spread {
				widest = i
			}
		}
		if cut[widest].spread == 0 {
			break
		}
		low, high := cut[widest].part()
		cut[widest] = low
		cut = append(cut, high)
	}
	return cut
}

// part splits a box in two with about the same number of pixels.
func (b box) part() (low, high box) {
	slices.SortFunc(b.buckets, func(x, y bucket) int { return cmp.Compare(x.mean(b.channel), y.mean(b.channel)) })
	total := 0
	for _, bk := range b.buckets {
		total += bk.count
	}
	at, seen := 1, b.buckets[0].count
	for at < len(b.buckets)-1 && seen < total/2 {
		seen += b.buckets[at].count
		at++
	}
	return newBox(b.buckets[:at]), newBox(b.buckets[at:])
}

// A quantiser finds the nearest palette entry of a colour.
type quantiser struct {
	palette []color.NRGBA
	nearest []int16 // entry of each bucket plus one; 0: not computed yet
}

func (q *quantiser) find(r, g, b, a uint8) uint8 {
	key := bucketOf(r, g, b, a)
	if q.nearest[key] == 0 {
		q.nearest[key] = int16(q.search(r, g, b, a)) + 1
	}
	return uint8(q.nearest[key] - 1)
}

func (q *quantiser) search(r, g, b, a uint8) int {
	best, least := 0, 1<<30
	for i, c := range q.palette {
		if c.A == 0 {
			continue // only for fully transparent pixels
		}
		d := square(c.R, r) + square(c.G, g) + square(c.B, b) + square(c.A, a)
		if d < least {
			best, least = i, d
		}
	}
	return best
}

func square(a, b uint8) int { return (int(a) - int(b)) * (int(a) - int(b)) }

// paint selects an entry for every pixel, row by row, with Floyd–Steinberg dithering.
func (q *quantiser) paint(m *image.NRGBA) *image.Paletted {
	width, height := m.Rect.Dx(), m.Rect.Dy()
	palette := make(color.Palette, len(q.palette))
	for i, c := range q.palette {
		palette[i] = c
	}
	out := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	// Errors of this row and the next in sixteenths, with a column on either side.
	here, below := make([][3]int, width+2), make([][3]int, width+2)
	for y := range height {
		for x := range width {
			p := m.Pix[y*m.Stride+4*x:][:4]
			if p[3] == 0 {
				continue // entry 0, without an error
			}
			var want [3]int
			for i := range want {
				want[i] = min(255, max(0, int(p[i])+here[x+1][i]/16))
			}
			entry := q.find(uint8(want[0]), uint8(want[1]), uint8(want[2]), p[3])
			out.Pix[y*out.Stride+x] = entry
			got := q.palette[entry]
			for i, v := range [3]uint8{got.R, got.G, got.B} {
				e := want[i] - int(v)
				here[x+2][i] += 7 * e
				below[x][i] += 3 * e
				below[x+1][i] += 5 * e
				below[x+2][i] += e
			}
		}
		here, below = below, here
		clear(below)
	}
	return out
}
