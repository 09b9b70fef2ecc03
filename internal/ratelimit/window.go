package ratelimit

import "time"

const (
	// slower is how many times its usual time the service takes when it is too
	// much for it, and slowBy by how much at least: what is quick may vary.
	slower = 2
	slowBy = 500 * time.Millisecond

	smoothing = 0.1              // the weight of one answer in the smoothed latency
	renewBase = 30 * time.Second // so long the least latency seen counts as usual
)

// A window bounds the requests at once: additive up, multiplicative down. Before the first
// sign of trouble it doubles, since one by one a short run would be over before the window
// is open.
type window struct {
	size, max float64
	known     bool  // there was trouble
	cutAt     int64 // requests begun when it was last cut: those say nothing new
	pressed   int64 // requests begun when another one last had to wait for the window

	latency  float64 // smoothed, in seconds
	usual    float64 // the least smoothed latency of late
	next     float64 // of the time since
	renewed  time.Time
	measured bool
}

// good grows the window by one for each window-full of good answers, or for each of them
// while it doubles, if more was wanted than it allowed.
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

// cut halves the window, once for all the requests that were under way.
func (w *window) cut(number, begun int64) { w.shrink(number, begun, 0.5) }

// ease makes the window a little smaller.
func (w *window) ease(number, begun int64) { w.shrink(number, begun, 0.8) }

func (w *window) shrink(number, begun int64, factor float64) {
	if number <= w.cutAt {
		return
	}
	w.size = max(1, w.size*factor)
	w.cutAt, w.known = begun, true
}

// isSlow takes note of a latency and reports whether the service has become much
// slower than it was. Should it stay so, that becomes the usual.
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
