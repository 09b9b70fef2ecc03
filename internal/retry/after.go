package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait that ParseRetryAfter returns: longer than reasonable limits of
// a service, short enough to notice an error.
const MaxRetryAfter = 10 * time.Minute

// ParseRetryAfter reads the value of a Retry-After header: seconds or an HTTP date. A date is
// relative to now, ideally the Date header of the same response. The result is between 0 and
// [MaxRetryAfter]. It is 0 for a missing or invalid value, a negative number or the past.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if isNumber(value) {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil || seconds > uint64(MaxRetryAfter/time.Second) { // the only error is: out of range
			return MaxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), MaxRetryAfter)
}

// Asked returns the wait that the header of a response asks for, or 0.
func Asked(h http.Header) time.Duration {
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return ParseRetryAfter(h.Get("Retry-After"), now)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
