package ui

import "time"

// LocalTime is a time as people read it.
func LocalTime(t time.Time) string {
	if t.IsZero() {
		return "not told"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// UTC is a time as programs read it; empty for none.
func UTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
