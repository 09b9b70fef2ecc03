package config

import "time"

// A TimeOfDay is a time on the clock on the wall, without a day.
type TimeOfDay struct{ Hour, Minute int }

// next is when it is that time again, which is on another day if it is now.
func (t TimeOfDay) next(now time.Time) time.Time {
	at := t.on(now, 0)
	if !at.After(now) {
		at = t.on(now, 1)
	}
	return at
}

// on is that time so many days after a time. In a day that leaves it out, when clocks
// are put forward, it is as much later.
func (t TimeOfDay) on(now time.Time, days int) time.Time {
	year, month, day := now.Date()
	at := time.Date(year, month, day+days, t.Hour, t.Minute, 0, 0, now.Location())
	if onTheWall(at).Before(time.Date(year, month, day+days, t.Hour, t.Minute, 0, 0, time.UTC)) {
		_, before := at.Zone()
		_, after := at.Add(time.Hour).Zone()
		at = at.Add(time.Duration(after-before) * time.Second)
	}
	return at
}

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
