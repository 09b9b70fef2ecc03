package ui

import (
	"fmt"
	"strconv"
	"time"

	"assetferry/internal/event"
)

// EstimateText returns the estimate of a plan in words.
func EstimateText(f *event.PlanEstimate) string {
	text := Count(f.Requests) + " requests"
	if f.Low == nil || f.High == nil {
		return text
	}
	return text + ", " + Between(time.Duration(*f.Low), time.Duration(*f.High))
}

// ListingText returns the measurement of a listing in words.
func ListingText(l *event.Listing) string {
	took := time.Duration(l.Seconds)
	return fmt.Sprintf("Listing: %s in %s, %s. Each run lists the source again.", Counted(l.Folders, "folder"), Duration(took), perSecond(float64(l.Folders)/took.Seconds()))
}

// Between returns a range of durations in the unit that suits the longer one: "between 1.2 and
// 3.4 hours".
func Between(low, high time.Duration) string {
	unit, size := "days", 24*time.Hour
	switch {
	case high < 2*time.Minute:
		unit, size = "seconds", time.Second
	case high < 2*time.Hour:
		unit, size = "minutes", time.Minute
	case high < 48*time.Hour:
		unit, size = "hours", time.Hour
	}
	from, to := inUnits(low, size), inUnits(high, size)
	if from == to {
		return fmt.Sprintf("about %s %s", to, unit)
	}
	return fmt.Sprintf("between %s and %s %s", from, to, unit)
}

// inUnits returns a duration with two digits, and more only before the point.
func inUnits(d, unit time.Duration) string {
	n := float64(d) / float64(unit)
	if n < 9.95 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return Count(int64(n + 0.5))
}
