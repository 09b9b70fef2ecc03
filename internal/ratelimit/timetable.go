package ratelimit

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/sorting"
)

// A Timetable limits the bytes per second by the time of day.
type Timetable []Slot

// A Slot ends where the next one begins. The last slot ends with the first one of the next day.
type Slot struct {
	From  time.Duration // since midnight
	Bytes float64       // per second; 0 means no limit
}

// ParseTimetable reads one limit, such as 512K, 2M or off, or several with the local times at
// which they begin: "08:00,512K 19:00,10M 23:00,off". K, M and G are powers of 1024; a number
// without a unit is in bytes. Less than 1K is refused, because the unit was forgotten.
func ParseTimetable(text string) (Timetable, error) {
	words := strings.Fields(text)
	if len(words) == 1 && !strings.Contains(text, ",") {
		bytes, err := parseBandwidth(words[0])
		return Timetable{{0, bytes}}, err
	}
	var table Timetable
	for _, w := range words {
		at, limit, _ := strings.Cut(w, ",")
		t, err := time.Parse("15:04", at)
		if err != nil {
			return nil, fmt.Errorf("%q does not start with a time of day such as 08:00", w)
		}
		bytes, err := parseBandwidth(limit)
		if err != nil {
			return nil, err
		}
		table = append(table, Slot{time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, bytes})
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("%q contains no limit such as 2M, or 08:00,512K 19:00,off", text)
	}
	sorting.By(table, func(a, b Slot) int { return cmp.Compare(a.From, b.From) })
	for n := 1; n < len(table); n++ {
		if table[n].From == table[n-1].From {
			return nil, fmt.Errorf("%q contains a time twice", text)
		}
	}
	return table, nil
}

const minBandwidth = 1 << 10

func parseBandwidth(text string) (float64, error) {
	if strings.EqualFold(text, "off") {
		return 0, nil
	}
	number, unit := text, 1.0
	if n := len(text) - 1; n > 0 {
		if factor, ok := map[string]float64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[strings.ToUpper(text[n:])]; ok {
			number, unit = text[:n], factor
		}
	}
	bytes, err := strconv.ParseFloat(number, 64)
	if err != nil || !(bytes > 0) || math.IsInf(bytes*unit, 0) {
		return 0, fmt.Errorf("%q is not a bandwidth such as 512K, 2M or off", text)
	}
	if bytes*unit < minBandwidth {
		return 0, fmt.Errorf("%q is less than 1K bytes per second; add a unit, such as 512K", text)
	}
	return bytes * unit, nil
}

// at returns the limit at a time, in bytes per second. 0 means no limit.
func (t Timetable) at(now time.Time) float64 {
	if len(t) == 0 {
		return 0
	}
	of := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute
	bytes := t[len(t)-1].Bytes // the last slot of the previous day
	for _, s := range t {
		if s.From <= of {
			bytes = s.Bytes
		}
	}
	return bytes
}
