package ratelimit

import "time"

const (
	// slower is the multiple of the usual latency that shows an overload of the service. The
	// difference must be at least slowBy, since short latencies vary.
	slower = 2
	slowBy = 500 * time.Millisecond

	smoothing = 0.1              // the weight of one answer in the smoothed latency
	renewBase = 30 * time.Second // time for which the lowest latency counts as usual
)

// A window limits the requests at the same time: additive increase, multiplicative decrease. Before
// the first problem it doubles, because a short run would otherwise end before the window is open.
type window struct {
	size, max float64
	known     bool  // there was a problem
	cutAt     int64 // requests begun before the last cut: their responses add nothing
	pressed   int64 // requests begun when the window last made one wait

	latency  float64 // smoothed, in seconds
	usual    float64 // lowest smoothed latency of the current period
	next     float64 // lowest one of the next period
	renewed  time.Time
	measured bool
}

// good grows the window by one for each window of successes, or for each success while it doubles.
// It grows only if the window made requests wait.
func (w *window) good(number int64) {
	if away := number - w.pressed; away <= -int64(w.size)-1 || away > int64(w.size) {
		return
	}
	more := 1 / w.size
	if !w.known {
		more = 1
	}
	w.size = min(w.max, w.size+more)
}

// cut halves the window, once for all requests in progress.
func (w *window) cut(number, begun int64) { w.shrink(number, begun, 0.5) }

// ease reduces the window a little.
func (w *window) ease(number, begun int64) { w.shrink(number, begun, 0.8) }

func (w *window) shrink(number, begun int64, factor float64) {
	if number <= w.cutAt {
		return
	}
	w.size = max(1, w.size*factor)
	w.cutAt, w.known = begun, true
}

// isSlow records a latency and reports whether the service has become much slower. If it stays
// slow, that becomes the usual latency.
func (w *window) isSlow(now time.Time, latency time.Duration) bool {
	if latency <= 0 {
		return false
	}
	s := latency.Seconds()
	if !w.measured {
		w.measured, w.latency, w.usual, w.next, w.renewed = true, s, s, s, now
		return false
	}
	w.latency += smoothing * (s - w.latency)
	w.usual, w.next = min(w.usual, w.latency), min(w.next, w.latency)
	if now.Sub(w.renewed) > renewBase {
		w.usual, w.next, w.renewed = w.next, w.latency, now
	}
	return w.latency > slower*w.usual && w.latency > w.usual+slowBy.Seconds()
}
