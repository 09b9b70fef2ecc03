package ratelimit

import (
	"math"
	"time"
)

// Takes returns how long it takes to send bytes from a time on, at a rate in bytes per second and
// within the timetable. A rate of 0 means no other limit. Changes of daylight saving time are not
// taken into account.
func (t Timetable) Takes(bytes, rate float64, from time.Time) time.Duration {
	if len(t) == 0 {
		t = Timetable{{}}
	}
	var took time.Duration
	if daily := t.inADay(rate); daily > 0 {
		days := math.Floor(bytes / daily)
		if days > maxDays {
			return maxDays * aDay
		}
		took = time.Duration(days) * aDay
		bytes -= days * daily
	}
	for now := from; bytes > 0; {
		perSecond := lesser(t.at(now), rate)
		slot := t.left(now)
		if perSecond == 0 {
			return took
		}
		if whole := perSecond * slot.Seconds(); bytes > whole {
			bytes, took, now = bytes-whole, took+slot, now.Add(slot)
			continue
		}
		return took + time.Duration(bytes/perSecond*float64(time.Second))
	}
	return took
}

const (
	aDay    = 24 * time.Hour
	maxDays = 100 * 365 // upper bound of the result
)

// inADay returns the bytes that are sent in a day, or 0 if there is no limit at some time.
func (t Timetable) inADay(rate float64) (bytes float64) {
	for n, s := range t {
		until := t[0].From + aDay
		if n+1 < len(t) {
			until = t[n+1].From
		}
		perSecond := lesser(s.Bytes, rate)
		if perSecond == 0 {
			return 0
		}
		bytes += perSecond * (until - s.From).Seconds()
	}
	return bytes
}

// left returns the rest of the slot at a time.
func (t Timetable) left(now time.Time) time.Duration {
	of := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute +
		time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	for _, s := range t {
		if s.From > of {
			return s.From - of
		}
	}
	return t[0].From + aDay - of
}

// lesser returns the lower of two limits. 0 means no limit.
func lesser(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
