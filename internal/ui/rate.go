package ui

import "time"

const (
	rateSpan = 30 * time.Second // how far back rates look
	rateStep = time.Second      // how often a sample is kept
)

// A sample is a reading of the counters.
type sample struct {
	at           time.Time
	items, bytes int64
}

// A window estimates rates over the recent past. It holds few samples: one a
// second, of the last half minute.
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

// rates returns items and bytes per second up to now; 0 while there is too
// little to go by.
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

// eta returns how long the rest takes, or false if nobody can say: a total or a
// rate is missing. Small objects are bound by their number and large ones by
// their bytes, so the later of both counts.
func eta(now sample, totalItems, totalBytes int64, itemRate, byteRate float64) (time.Duration, bool) {
	if totalItems < 0 && totalBytes < 0 {
		return 0, false
	}
	items, ok1 := timeLeft(now.items, totalItems, itemRate)
	bytes, ok2 := timeLeft(now.bytes, totalBytes, byteRate)
	return max(items, bytes), ok1 && ok2
}

func timeLeft(done, total int64, rate float64) (time.Duration, bool) {
	if total < 0 || done >= total {
		return 0, true
	}
	seconds := float64(total-done) / rate
	if rate <= 0 || seconds > 1e9 { // beyond 30 years it is not an estimate
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
