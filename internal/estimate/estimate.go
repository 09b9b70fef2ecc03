// Package forecast tells between which lengths of time carrying out a plan takes, from
// what former runs were measured to get done and from the bounds that are set. Without
// measurements it tells nothing.
package estimate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assetferry/internal/ratelimit"
	"assetferry/state"
)

// Work is what is to be done.
type Work struct {
	Calls int64 // requests
	Items int64
	Bytes int64
}

// Bounds are what a run must keep to. The zero Bounds are none.
type Bounds struct {
	Calls     ratelimit.RequestLimit
	Bandwidth ratelimit.Timetable
	Window    time.Duration // so long a run may take, and it is run once a day; 0: no limit
}

// A Range is a length of time, from low to high.
type Range struct{ Low, High time.Duration }

const (
	// enough is how many items must have been measured.
	enough = 50
	// shortest is how long a measurement counts at least: what took less is not known
	// so exactly.
	shortest = time.Second
	// steady is from when on measurements are taken for what is usual.
	steady = 10 * time.Minute
	// longest is what no forecast exceeds; nobody plans for longer.
	longest = 100 * 365 * 24 * time.Hour
)

// Time tells how long work takes that begins at a time, unless too little was measured.
// It depends on whichever takes longer: the number of items, or their bytes.
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
	if span < steady { // it may have been a good moment, or a bad one
		spread = 1.5
	}
	low := b.stretch(w, duration(w.Items, fastItems*spread), fastBytes*spread, now)
	high := b.stretch(w, duration(w.Items, slowItems/spread), slowBytes/spread, now)
	return Range{low, high}, true
}

// rates gives what was done in a second: a quarter of the time it was less than slow,
// and a quarter of the time more than fast.
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
	slices.SortFunc(all, func(a, b rate) int { return cmp.Compare(a.perSecond, b.perSecond) })
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

// stretch gives how long work takes whose items take a time, and whose bytes go at a
// rate, within bounds.
func (b Bounds) stretch(w Work, items time.Duration, bytesPerSecond float64, now time.Time) time.Duration {
	working := max(items, duration(w.Bytes, bytesPerSecond), b.Bandwidth.Takes(float64(w.Bytes), bytesPerSecond, now))
	return min(max(working, b.inWindows(working), b.inRequestLimit(w.Calls, working)), longest)
}

// inWindows is how long it takes if work goes on for a part of each day only.
func (b Bounds) inWindows(working time.Duration) time.Duration {
	if b.Window <= 0 || working <= b.Window {
		return working
	}
	const day = 24 * time.Hour
	full := (working - 1) / b.Window // runs that end because their time is up
	if full > longest/day {
		return longest
	}
	return full*max(day, b.Window) + working - full*b.Window
}

// inRequestLimit is how long it takes if only so many requests may be made within a time.
func (b Bounds) inRequestLimit(calls int64, working time.Duration) time.Duration {
	if b.Calls.Requests == 0 || calls <= b.Calls.Requests {
		return working
	}
	full := (calls - 1) / b.Calls.Requests // times that all requests are used up
	if full > int64(longest/b.Calls.Window) {
		return longest
	}
	rest := float64(calls-full*b.Calls.Requests) / float64(calls)
	return time.Duration(full)*b.Calls.Window + time.Duration(rest*float64(working))
}

// duration is how long so much takes at a rate.
func duration(n int64, perSecond float64) time.Duration {
	if n == 0 {
		return 0
	}
	return time.Duration(math.Min(float64(n)/perSecond*float64(time.Second), float64(longest)))
}
