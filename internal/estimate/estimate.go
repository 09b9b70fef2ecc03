// Package estimate estimates the duration of a plan from the measured rates of previous runs and
// from the limits that are set. Without measurements there is no estimate.
package estimate

import (
	"cmp"
	"math"
	"time"

	"assetferry/internal/ratelimit"
	"assetferry/internal/sorting"
	"assetferry/state"
)

// Work is the amount of planned work.
type Work struct {
	Calls int64 // number of requests
	Items int64
	Bytes int64
}

// Bounds are the limits of a run. The zero value has none.
type Bounds struct {
	Calls     ratelimit.RequestLimit
	Bandwidth ratelimit.Timetable
	Window    time.Duration // maximum duration of a run, which starts once a day; 0 means no limit
}

// A Range is the lowest and the highest expected duration.
type Range struct{ Low, High time.Duration }

const (
	// enough is the minimum number of measured items.
	enough = 50
	// shortest is the minimum length of a measurement: shorter ones are less exact and count as
	// long as this.
	shortest = time.Second
	// steady is the total length of measurements from which on their average is reliable.
	steady = 10 * time.Minute
	// longest is the maximum of an estimate.
	longest = 100 * 365 * 24 * time.Hour
)

// Time estimates the duration of work that starts now. It depends on the number of items or on
// their bytes, whichever takes longer. If known is false, the measurements are too few.
func Time(w Work, measured []state.Rate, b Bounds, now time.Time) (r Range, known bool) {
	var items int64
	var span time.Duration
	for _, m := range measured {
		items += m.Items
		span += max(m.Span, shortest)
	}
	if items < enough {
		return Range{}, false
	}
	slowItems, fastItems := rates(measured, func(m state.Rate) int64 { return m.Items })
	slowBytes, fastBytes := rates(measured, func(m state.Rate) int64 { return m.Bytes })
	if slowItems == 0 || w.Bytes > 0 && slowBytes == 0 {
		return Range{}, false
	}
	spread := 1.1
	if span < steady { // a short measurement may have hit an exceptional moment
		spread = 1.5
	}
	low := b.stretch(w, duration(w.Items, fastItems*spread), fastBytes*spread, now)
	high := b.stretch(w, duration(w.Items, slowItems/spread), slowBytes/spread, now)
	return Range{low, high}, true
}

// Within estimates the duration of work that would take a known time without the limits of a run.
func Within(w Work, free Range, b Bounds, now time.Time) Range {
	limited := func(d time.Duration) time.Duration {
		return b.stretch(w, d, float64(w.Bytes)/max(d, time.Millisecond).Seconds(), now)
	}
	return Range{limited(free.Low), limited(free.High)}
}

// rates returns the quartiles of the measured rates per second: for a quarter of the time the rate
// was below slow, and for a quarter of the time above fast.
func rates(measured []state.Rate, what func(state.Rate) int64) (slow, fast float64) {
	type rate struct{ perSecond, weight float64 }
	var all []rate
	var whole float64
	for _, m := range measured {
		if n := what(m); n > 0 {
			seconds := max(m.Span, shortest).Seconds()
			all = append(all, rate{float64(n) / seconds, seconds})
			whole += seconds
		}
	}
	sorting.By(all, func(a, b rate) int { return cmp.Compare(a.perSecond, b.perSecond) })
	passed := 0.0
	for _, r := range all {
		passed += r.weight
		if slow == 0 && passed >= whole/4 {
			slow = r.perSecond
		}
		if fast == 0 && passed >= whole*3/4 {
			fast = r.perSecond
		}
	}
	return slow, fast
}

// stretch returns the duration of work within the bounds. The items take the given time, and the
// bytes are transferred at the given rate.
func (b Bounds) stretch(w Work, items time.Duration, bytesPerSecond float64, now time.Time) time.Duration {
	working := max(items, duration(w.Bytes, bytesPerSecond), b.Bandwidth.Takes(float64(w.Bytes), bytesPerSecond, now))
	return min(max(working, b.inWindows(working), b.inRequestLimit(w.Calls, working)), longest)
}

// inWindows returns the duration of work that runs only within the daily time window.
func (b Bounds) inWindows(working time.Duration) time.Duration {
	if b.Window <= 0 || working <= b.Window {
		return working
	}
	const day = 24 * time.Hour
	full := (working - 1) / b.Window // number of runs that end with the time window
	if full > longest/day {
		return longest
	}
	return full*max(day, b.Window) + working - full*b.Window
}

// inRequestLimit returns the duration of work with a limit on requests.
func (b Bounds) inRequestLimit(calls int64, working time.Duration) time.Duration {
	if b.Calls.Requests == 0 || calls <= b.Calls.Requests {
		return working
	}
	full := (calls - 1) / b.Calls.Requests // number of times that the limit is reached
	if full > int64(longest/b.Calls.Window) {
		return longest
	}
	rest := float64(calls-full*b.Calls.Requests) / float64(calls)
	return time.Duration(full)*b.Calls.Window + time.Duration(rest*float64(working))
}

// duration returns the duration of n units at a rate.
func duration(n int64, perSecond float64) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(math.Min(float64(n)/perSecond*float64(time.Second), float64(longest)))
}
