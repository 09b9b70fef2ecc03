package ui

import (
	"slices"
	"strings"
)

// Sparkline draws numbers as bars, one column each, between 0 and the largest: what is not
// zero is seen to be more. None of them is negative.
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
