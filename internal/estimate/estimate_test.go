package estimate

import (
	"testing"
	"time"

	"assetferry/internal/ratelimit"
	"assetferry/state"
)

// minutes returns n measurements of one minute, each with the same number of items and bytes.
func minutes(n int, items, bytes int64) []state.Rate {
	all := make([]state.Rate, n)
	for i := range all {
		all[i] = state.Rate{Items: items, Bytes: bytes, Span: time.Minute}
	}
	return all
}

func table(t *testing.T, text string) ratelimit.Timetable {
	t.Helper()
	parsed, err := ratelimit.ParseTimetable(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestTime(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	steady := minutes(20, 600, 60e6) // 10 items and 1 MB per second
	varied := append(minutes(10, 300, 30e6), minutes(10, 1200, 120e6)...)
	const hour = time.Hour
	for _, test := range []struct {
		name      string
		work      Work
		measured  []state.Rate
		bounds    Bounds
		low, high time.Duration
		unknown   bool
	}{
		{name: "nothing measured", work: Work{Items: 10, Bytes: 10}, unknown: true},
		{name: "too little measured", work: Work{Items: 10, Bytes: 10}, measured: minutes(1, 49, 1e6), unknown: true},
		{name: "nothing was sent when it was measured", work: Work{Items: 10, Bytes: 10}, measured: minutes(20, 600, 0), unknown: true},
		{name: "only adopted then and now", work: Work{Items: 36000 * 11}, measured: minutes(20, 600, 0), low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "many small ones", work: Work{Items: 36000 * 11, Bytes: 1000}, measured: steady, low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "few large ones", work: Work{Items: 1, Bytes: 3600e6 * 11}, measured: steady, low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "sometimes slow", work: Work{Items: 18000 * 11}, measured: varied, low: 150 * time.Minute, high: 12*hour + 6*time.Minute},
		{name: "measured for a minute", work: Work{Items: 36000 * 3}, measured: minutes(1, 600, 60e6), low: 2 * hour, high: 4*hour + 30*time.Minute},
		{name: "measured for a moment", work: Work{Items: 600 * 60 * 3}, measured: []state.Rate{{Items: 600, Bytes: 1}}, low: 2 * time.Minute, high: 4*time.Minute + 30*time.Second},
		{name: "minutes in which nothing was sent", work: Work{Items: 1, Bytes: 3600e6 * 11}, measured: append(minutes(20, 600, 60e6), minutes(20, 600, 0)...), low: 10 * hour, high: 12*hour + 6*time.Minute},

		{name: "bandwidth", work: Work{Items: 1, Bytes: 1024 * 3600}, measured: steady, bounds: Bounds{Bandwidth: table(t, "1K")}, low: hour, high: hour},
		{name: "bandwidth that does not matter", work: Work{Items: 36000 * 11}, measured: steady, bounds: Bounds{Bandwidth: table(t, "1K")}, low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "budget", work: Work{Calls: 2500, Items: 1000}, measured: steady, bounds: Bounds{Calls: ratelimit.RequestLimit{Requests: 1000, Window: hour}},
			low: 2*hour + seconds(1000/11.0/5), high: 2*hour + seconds(1000*1.1/10/5)},
		{name: "budget that is enough", work: Work{Calls: 1000, Items: 36000 * 11}, measured: steady, bounds: Bounds{Calls: ratelimit.RequestLimit{Requests: 1000, Window: hour}}, low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "nights", work: Work{Items: 36000 * 11}, measured: steady, bounds: Bounds{Window: 5 * hour}, low: 24*hour + 5*hour, high: 48*hour + 2*hour + 6*time.Minute},
		{name: "one window is enough", work: Work{Items: 36000}, measured: steady, bounds: Bounds{Window: 5 * hour}, low: seconds(36000 / 11.0), high: seconds(3600 * 1.1)},
		{name: "days without end", work: Work{Items: 36000 * 11}, measured: steady, bounds: Bounds{Window: 30 * hour}, low: 10 * hour, high: 12*hour + 6*time.Minute},
		{name: "more than anybody waits for", work: Work{Calls: 1 << 62, Items: 1 << 62, Bytes: 1 << 62}, measured: steady,
			bounds: Bounds{Calls: ratelimit.RequestLimit{Requests: 1, Window: hour}, Bandwidth: table(t, "1K"), Window: time.Nanosecond}, low: longest, high: longest},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, known := Time(test.work, test.measured, test.bounds, noon)
			if known == test.unknown {
				t.Fatalf("known: %v", known)
			}
			if !near(got.Low, test.low) || !near(got.High, test.high) {
				t.Errorf("between %v and %v, want %v and %v", got.Low, got.High, test.low, test.high)
			}
		})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func near(a, b time.Duration) bool { return (a - b).Abs() <= time.Millisecond }
