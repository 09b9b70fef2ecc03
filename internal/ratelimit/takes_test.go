package ratelimit

import (
	"math"
	"testing"
	"time"
)

func TestTakes(t *testing.T) {
	const hour = time.Hour
	table := "08:00,1K 20:00,2K" // 12 hours each
	for _, test := range []struct {
		name, table string
		bytes, rate float64
		from        string
		want        time.Duration
	}{
		{"no limit at all", "", 1e9, 0, "12:00", 0},
		{"nothing", "1K", 0, 0, "12:00", 0},
		{"a rate of its own", "", 3600, 1, "12:00", hour},
		{"the rate is lower", "1K", 3600, 1, "12:00", hour},
		{"the limit is lower", "1K", 1024 * 3600, 1e6, "12:00", hour},
		{"within a slot", table, 1024 * 3600, 0, "12:00", hour},
		{"into the next", table, 1024 * 3600 * 10, 0, "12:00", 8*hour + hour},
		{"over midnight", table, 1024 * 3600 * 9, 0, "19:00", hour + 4*hour},
		{"days", table, 1024 * 3600 * 12 * (3*10 + 1), 0, "08:00", 10*24*hour + 12*hour},
		{"off in the evening", "08:00,1K 20:00,off", 1e15, 0, "12:00", 8 * hour},
		{"off in the evening, at a rate", "08:00,1K 20:00,off", 1024*3600*8 + 2048*3600, 2048, "12:00", 9 * hour},
		{"for ever", "1K", math.MaxFloat64, 0, "12:00", maxDays * aDay},
	} {
		t.Run(test.name, func(t *testing.T) {
			var table Timetable
			if test.table != "" {
				var err error
				if table, err = ParseTimetable(test.table); err != nil {
					t.Fatal(err)
				}
			}
			if got := table.Takes(test.bytes, test.rate, at(test.from)); (got - test.want).Abs() > time.Millisecond {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
