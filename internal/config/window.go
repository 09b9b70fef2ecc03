package config

import "time"

// A TimeOfDay is a time on the clock on the wall, without a day.
type TimeOfDay struct{ Hour, Minute int }

// next is when it is that time again, which is on another day if it is now.
func (t TimeOfDay) next(now time.Time) time.Time {
	year, month, day := now.Date()
	at := time.Date(year, month, day, t.Hour, t.Minute, 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(year, month, day+1, t.Hour, t.Minute, 0, 0, now.Location())
	}
	return at
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
