package ui

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes formats a size in decimal units: "1.2 MB".
func Bytes(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		f /= 1000
		if f > -999.95 && f < 999.95 { // else it would read 1000.0
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f EB", f/1000)
}

// Count formats a number with thousands separated: "1,234,567".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	s := ""
	for len(digits) > 3 {
		cut := len(digits) - 3
		s = "," + digits[cut:] + s
		digits = digits[:cut]
	}
	return sign + digits + s
}

// Counted returns a number with its noun: "1 file", "2,000 files".
func Counted(n int64, word string) string { return CountedAs(n, word, word+"s") }

// CountedAs is Counted for nouns with an irregular plural.
func CountedAs(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Duration formats a duration with two numbers at most: "1.2s", "34s", "5m06s", "7h08m",
// "9d10h". A negative one counts as zero.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0)
	switch whole := d.Round(time.Second); {
	case d.Round(100*time.Millisecond) < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case whole < time.Minute:
		return fmt.Sprintf("%ds", whole/time.Second)
	case whole < time.Hour:
		return fmt.Sprintf("%dm%02ds", whole/time.Minute, whole%time.Minute/time.Second)
	case whole < day:
		return fmt.Sprintf("%dh%02dm", whole/time.Hour, whole%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", whole/day, whole%day/time.Hour)
	}
}

// perSecond formats a rate of items.
func perSecond(r float64) string {
	if r < 10 {
		return fmt.Sprintf("%.1f/s", r)
	}
	return Count(int64(r+0.5)) + "/s"
}
