package config

import (
	"fmt"
	"time"
)

// A TimeOfDay is a time on the clock on the wall, without a day.
type TimeOfDay struct{ Hour, Minute int }

// ParseTimeOfDay reads a time such as 06:00.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return TimeOfDay{}, fmt.Errorf("%q is not a time of day such as 06:00", text)
	}
	return TimeOfDay{t.Hour(), t.Minute()}, nil
}

// next is when it is that time again, which is on another day if it is now.
func (t TimeOfDay) next(now time.Time) (next time.Time) {
	for days := range 2 {
		for _, at := range t.on(now, days) {
			if at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}

// on is that time so many days after a time. A day has it twice when clocks are put
// back. In one that leaves it out, when they are put forward, it is as much later.
func (t TimeOfDay) on(now time.Time, days int) (all []time.Time) {
	year, month, day := now.Date()
	wall := time.Date(year, month, day+days, t.Hour, t.Minute, 0, 0, time.UTC)
	_, before := wall.Add(-aDay).In(now.Location()).Zone()
	_, after := wall.Add(aDay).In(now.Location()).Zone()
	for _, east := range []int{before, after} {
		at := wall.Add(-time.Duration(east) * time.Second).In(now.Location())
		if onTheWall(at).Equal(wall) {
			all = append(all, at)
		}
	}
	if len(all) == 0 {
		all = append(all, wall.Add(-time.Duration(before)*time.Second).In(now.Location()))
	}
	return all
}

// aDay is far enough from a time to be on the other side of the clocks being put.
const aDay = 24 * time.Hour

// onTheWall is what the clock on the wall shows, to be compared with what it should.
func onTheWall(t time.Time) time.Time {
	_, east := t.Zone()
	return t.Add(time.Duration(east) * time.Second).UTC()
}

// WindowEnd says when a run that begins now has to end, if it has to.
func (s *Settings) WindowEnd(now time.Time) (end time.Time, limited bool) {
	if s.MaxDuration > 0 {
		end, limited = now.Add(s.MaxDuration), true
	}
	if s.Until != nil {
		if at := s.Until.next(now); !limited || at.Before(end) {
			end, limited = at, true
		}
	}
	return end, limited
}
