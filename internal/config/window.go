package config

import (
	"fmt"
	"time"
)

// A TimeOfDay is a local time without a day.
type TimeOfDay struct{ Hour, Minute int }

// ParseTimeOfDay parses a time such as 06:00.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return TimeOfDay{}, fmt.Errorf("%q is not a time of day such as 06:00", text)
	}
	return TimeOfDay{t.Hour(), t.Minute()}, nil
}

// next returns the next occurrence of the time of day; the one of tomorrow if it is now.
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

// on returns the occurrences of the time of day on the date that is a number of days after a
// moment. There are two if clocks are set back. If clocks are set forward, a time that does not
// exist moves later by the same amount.
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

// aDay is long enough to reach the other side of a clock change from any moment.
const aDay = 24 * time.Hour

// onTheWall returns the local time of day, for comparison.
func onTheWall(t time.Time) time.Time {
	_, east := t.Zone()
	return t.Add(time.Duration(east) * time.Second).UTC()
}

// WindowEnd returns the end of a run that begins now, if it has one.
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
