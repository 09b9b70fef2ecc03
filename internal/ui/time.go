package ui

import "time"

// LocalTime formats a time for people, in their time zone; "unknown" for none.
func LocalTime(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// TimeAndWait formats a time of day and the duration until then: "14:05:09 (in 58s)".
func TimeAndWait(t, now time.Time) string {
	layout := time.TimeOnly
	if t.Sub(now) > 12*time.Hour {
		layout = time.DateTime
	}
	return t.Local().Format(layout) + " (in " + Duration(t.Sub(now)) + ")"
}

// UTC formats a time for programs; "" for none.
func UTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
