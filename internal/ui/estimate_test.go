package ui

import (
	"testing"
	"time"

	"assetferry/internal/event"
)

func TestEstimateText(t *testing.T) {
	for want, f := range map[string]*event.PlanEstimate{
		"1,234 requests":                        {Requests: 1234},
		"7 requests, between 1.2 and 3.4 hours": {Requests: 7, Low: new(event.Seconds(72 * time.Minute)), High: new(event.Seconds(204 * time.Minute))},
	} {
		if got := EstimateText(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	listing := &event.Listing{Folders: 1234, Seconds: event.Seconds(125 * time.Second)}
	if got, want := ListingText(listing), "Listing: 1,234 folders in 2m05s, 9.9/s. Each run lists the source again."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, test := range []struct {
		low, high time.Duration
		want      string
	}{
		{0, 0, "about 0.0 seconds"},
		{300 * time.Millisecond, 12 * time.Second, "between 0.3 and 12 seconds"},
		{50 * time.Second, 119 * time.Second, "between 50 and 119 seconds"},
		{50 * time.Second, 2 * time.Minute, "between 0.8 and 2.0 minutes"},
		{597 * time.Second, 119 * time.Minute, "between 10 and 119 minutes"},
		{time.Hour, 47 * time.Hour, "between 1.0 and 47 hours"},
		{36 * time.Hour, 36 * time.Hour, "about 36 hours"},
		{36 * time.Hour, 48 * time.Hour, "between 1.5 and 2.0 days"},
		{0, 36500 * 24 * time.Hour, "between 0.0 and 36,500 days"},
	} {
		if got := Between(test.low, test.high); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
