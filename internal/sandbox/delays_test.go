package sandbox

import (
	"slices"
	"testing"
	"time"

	"assetferry/internal/sandbox/profile"
)

// Uploads at the same time share the total bandwidth, and none is faster than a single one.
func TestTransfer(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name     string
		one, all int64
		want     []time.Duration // of uploads of 1 MB that begin at the same time
	}{
		{"no limit", 0, 0, []time.Duration{0, 0}},
		{"each alone", 1e6, 0, []time.Duration{time.Second, time.Second}},
		{"one line", 1e6, 1e6, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
		{"two at a time", 1e6, 2e6, []time.Duration{time.Second, time.Second, 1500 * time.Millisecond}},
		{"only a total", 0, 4e6, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDelays(0, profile.Profile{UploadBandwidth: test.one, UploadBandwidthTotal: test.all})
			var got []time.Duration
			for range test.want {
				got = append(got, d.transfer(1e6, now))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A random duration has the median and the 95th percentile of its distribution, and no extreme values.
func TestScatter(t *testing.T) {
	s := scatter{100 * time.Millisecond, 250 * time.Millisecond}
	const n = 20_000
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = s.next()
	}
	slices.Sort(all)
	for _, q := range []struct {
		share float64
		want  time.Duration
	}{{0.5, s.median}, {0.95, s.p95}} {
		if got := all[int(q.share*n)]; (got - q.want).Abs() > q.want/10 { // 14 standard errors or more
			t.Errorf("quantile %v: %v, want %v", q.share, got, q.want)
		}
	}
	if longest := all[n-1]; longest > 10*s.median {
		t.Errorf("longest %v", longest)
	}
	for _, constant := range []scatter{{time.Second, 0}, {time.Second, time.Second}, {0, time.Second}} {
		if got := constant.next(); got != constant.median {
			t.Errorf("%v: got %v", constant, got)
		}
	}
}
