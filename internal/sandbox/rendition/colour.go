package rendition

import "image/color"

// Colour returns the most frequent colour of an image on white.
func (p Picture) Colour() color.NRGBA {
	const side, boxes = 32, 6
	counted, _ := countColours(toNRGBA(onWhite(p.Fit(side, side))))
	most, colour := 0, color.NRGBA{}
	for _, b := range medianCut(counted, boxes) {
		count := 0
		for _, bk := range b.buckets {
			count += bk.count
		}
		if count > most {
			most, colour = count, b.colour()
		}
	}
	return colour
}
