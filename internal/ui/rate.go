package ui

import "time"

const (
	rateSpan = 30 * time.Second // the period that rates are measured over
	rateStep = time.Second      // the time between two samples
)

// A sample is a reading of the counters.
type sample struct {
	at           time.Time
	items, bytes int64
}

// A window measures rates over the last half minute, with one sample a second.
type window struct {
	samples []sample
}

func (w *window) add(s sample) {
	if n := len(w.samples); n > 0 && s.at.Sub(w.samples[n-1].at) < rateStep {
		return
	}
	w.samples = append(w.samples, s)
	for len(w.samples) > 1 && s.at.Sub(w.samples[0].at) > rateSpan {
		w.samples = w.samples[1:]
	}
}

// rates returns items and bytes per second up to now; 0 for less than a second.
func (w *window) rates(now sample) (items, bytes float64) {
	if len(w.samples) == 0 {
		return 0, 0
	}
	return ratesBetween(w.samples[0], now)
}

func ratesBetween(from, to sample) (items, bytes float64) {
	span := to.at.Sub(from.at)
	if span < rateStep {
		return 0, 0
	}
	return max(0, float64(to.items-from.items)/span.Seconds()),
		max(0, float64(to.bytes-from.bytes)/span.Seconds())
}

// eta returns how long the rest of the work takes at a rate per second, and false if that
// cannot be estimated.
func eta(done, total int64, rate float64) (time.Duration, bool) {
	if total < 0 {
		return 0, false
	}
	if done >= total {
		return 0, true
	}
	seconds := float64(total-done) / rate
	if rate <= 0 || seconds > 1e9 { // beyond 30 years it is no estimate
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
