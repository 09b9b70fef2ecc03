package ui

import (
	"slices"
	"strings"
)

// Sparkline draws numbers as bars of one column each, from 0 to the largest. Every number above
// zero has a higher bar than zero. Numbers must not be negative.
func Sparkline(values []int64) string {
	if len(values) == 0 {
		return ""
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	largest := slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		at := 0
		if v > 0 {
			at = 1 + int(float64(v)/float64(largest)*float64(len(bars)-2))
		}
		b.WriteRune(bars[at])
	}
	return b.String()
}
