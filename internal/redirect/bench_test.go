package redirect

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkWrite measures the number of URLs that are written per second. Every third is an image
// in eleven sizes.
func BenchmarkWrite(b *testing.B) {
	const count = 30_000
	rows := make([]Row, count)
	for n := range rows {
		rows[n] = rowOf(b, "https://old.example.com/my files/", fmt.Sprintf("archive/%04d/picture %08d.jpg", n/500, n))
		rows[n].Images = nil
		if n%3 == 0 {
			rows[n].Images = imagesOf(rows[n].New)
		}
	}
	for _, format := range Formats() {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := newPathSummary(format)
				if f, _ := FormatOf(format); f.listing {
					for _, r := range rows {
						must(b, s.Add(r))
					}
				}
				w, err := New(format, io.Discard, s)
				must(b, err)
				for _, r := range rows {
					must(b, w.Write(r))
				}
				must(b, w.Close())
			}
			b.ReportMetric(count*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func imagesOf(file string) map[string]string {
	images := map[string]string{defaultImage: file + "/images/1000.jpeg"}
	for width := 100; width <= 1000; width += 100 {
		images[fmt.Sprint(width)] = fmt.Sprintf("%s/images/%d.webp", file, width)
	}
	return images
}
