package ui

import (
	"math"
	"testing"
)

func TestSparkline(t *testing.T) {
	for _, tc := range []struct {
		values []int64
		want   string
	}{
		{nil, ""}, {[]int64{0}, "▁"}, {[]int64{0, 0, 0}, "▁▁▁"}, {[]int64{0, 1, 1_000_000}, "▁▂█"}, {[]int64{7}, "█"},
		{[]int64{0, 1, 2, 3, 4, 5, 6}, "▁▃▄▅▆▇█"}, {[]int64{math.MaxInt64, 1}, "█▂"},
	} {
		if got := Sparkline(tc.values); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.values, got, tc.want)
		}
	}
}
