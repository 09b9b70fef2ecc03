package config

import (
	"testing"
	"time"
)

func TestWindowEnd(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	six := &TimeOfDay{6, 0}
	for _, tc := range []struct {
		name        string
		now         string
		until       *TimeOfDay
		maxDuration time.Duration
		want        string // empty: no end
	}{
		{"no limit", "2026-11-21 22:00", nil, 0, ""},
		{"a duration", "2026-11-21 22:00", nil, 2 * time.Hour, "2026-11-22 00:00"},
		{"later today", "2026-11-21 05:59", six, 0, "2026-11-21 06:00"},
		{"tomorrow", "2026-11-21 22:00", six, 0, "2026-11-22 06:00"},
		{"just now is tomorrow", "2026-11-21 06:00", six, 0, "2026-11-22 06:00"},
		{"the duration ends first", "2026-11-21 22:00", six, time.Hour, "2026-11-21 23:00"},
		{"the time comes first", "2026-11-21 22:00", six, 24 * time.Hour, "2026-11-22 06:00"},
		{"the last day of a year", "2026-12-31 22:00", six, 0, "2027-01-01 06:00"},
		{"a night of 25 hours", "2026-10-24 22:00", six, 0, "2026-10-25 06:00"},
	} {
		s := Settings{Until: tc.until, MaxDuration: tc.maxDuration}
		got, limited := s.WindowEnd(at(tc.now))
		if limited != (tc.want != "") {
			t.Errorf("%s: got limited %v", tc.name, limited)
		} else if limited && !got.Equal(at(tc.want)) {
			t.Errorf("%s: got %v, want %s", tc.name, got, tc.want)
		}
	}
}

// A time that a day leaves out is not yesterday's, so that a run goes on for a day.
func TestUntilATimeThatIsLeftOut(t *testing.T) {
	for zone, day := range map[string]time.Time{
		"America/New_York": time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), "Europe/Berlin": time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC),
	} {
		where, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(day.Year(), day.Month(), day.Day(), 1, 45, 0, 0, where)
		end, _ := (&Settings{Until: &TimeOfDay{2, 30}}).WindowEnd(now)
		if got := end.Sub(now); got <= 0 || got > time.Hour {
			t.Errorf("%s: ends after %v", zone, got)
		}
	}
}
