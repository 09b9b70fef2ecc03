package config

import (
	"testing"
	"time"

	"assetferry/internal/test/longtest"
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
		want        string // "" means no end
	}{
		{"no limit", "2026-11-21 22:00", nil, 0, ""},
		{"a duration", "2026-11-21 22:00", nil, 2 * time.Hour, "2026-11-22 00:00"},
		{"later today", "2026-11-21 05:59", six, 0, "2026-11-21 06:00"},
		{"tomorrow", "2026-11-21 22:00", six, 0, "2026-11-22 06:00"},
		{"just now is tomorrow", "2026-11-21 06:00", six, 0, "2026-11-22 06:00"},
		{"the duration ends first", "2026-11-21 22:00", six, time.Hour, "2026-11-21 23:00"},
		{"the time comes first", "2026-11-21 22:00", six, 24 * time.Hour, "2026-11-22 06:00"},
		{"the last day of a year", "2026-12-31 22:00", six, 0, "2027-01-01 06:00"},
		{"a day of 25 hours", "2026-10-24 22:00", six, 0, "2026-10-25 06:00"},
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

// TestUntilWhereClocksAreSet verifies the next occurrence of times that a day skips or repeats
// because clocks are changed. The occurrence is never in the past, and at most a day plus the clock
// change ahead.
func TestUntilWhereClocksAreSet(t *testing.T) {
	step := longtest.Fewer(15*time.Minute, 135*time.Minute)
	times := []TimeOfDay{{0, 0}, {0, 30}, {1, 0}, {2, 0}, {2, 15}, {2, 30}, {3, 0}, {6, 0}, {23, 30}}
	for _, zone := range []string{ // two change clocks at midnight, one by half an hour
		"America/Santiago", "America/Havana", "Australia/Lord_Howe", "Europe/Berlin", "America/New_York", "Africa/Cairo", "UTC",
	} {
		where, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for now := time.Date(2024, 1, 1, 0, 0, 0, 0, where); now.Year() < 2026; now = now.Add(step) {
			for _, tod := range times {
				end, _ := (&Settings{Until: &tod}).WindowEnd(now)
				if left := end.Sub(now); left <= 0 || left > 25*time.Hour {
					t.Errorf("%s: at %v, until %v is in %v", zone, now, tod, left)
				}
			}
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		now, want time.Time // in UTC
		until     TimeOfDay
	}{
		{"left out", time.Date(2026, 3, 29, 0, 45, 0, 0, time.UTC), time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), TimeOfDay{2, 30}},
		{"the first of two", time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), TimeOfDay{2, 30}},
		{"the second of two", time.Date(2026, 10, 25, 0, 45, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC), TimeOfDay{2, 30}},
	} {
		if end, _ := (&Settings{Until: &tc.until}).WindowEnd(tc.now.In(berlin)); !end.Equal(tc.want) {
			t.Errorf("a time that is %s: got %v, want %v", tc.name, end, tc.want)
		}
	}
}
