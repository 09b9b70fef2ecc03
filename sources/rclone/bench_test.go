package rclone

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEntries measures a listing of rclone, for each entry.
func BenchmarkEntries(b *testing.B) {
	var text strings.Builder
	text.WriteString("{\n\t\"list\": [\n")
	const count = 10_000
	for n := range count {
		fmt.Fprintf(&text, "\t\t{\n\t\t\t\"Path\": \"folder/image-%07d.jpg\",\n\t\t\t\"Name\": \"image-%07d.jpg\",\n\t\t\t\"Size\": %d,\n\t\t\t\"ModTime\": \"2026-01-02T03:04:05.123456789Z\",\n\t\t\t\"IsDir\": false\n\t\t},\n", n, n, n)
	}
	listing := strings.TrimSuffix(text.String(), ",\n") + "\n\t]\n}\n"
	s := &Source{}
	for b.Loop() {
		found := 0
		err := s.entries(strings.NewReader(listing), func(entry) error { found++; return nil })
		if err != nil || found != count {
			b.Fatalf("%d entries, %v", found, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/entry")
}
