package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait that ParseRetryAfter returns: longer than
// any limit of a service that means well, short enough to notice a mistake.
const MaxRetryAfter = 10 * time.Minute

// ParseRetryAfter reads the value of a Retry-After header: seconds or an HTTP
// date, the latter as seen from now, which is best the time in the same answer's
// Date header. The result is between 0 and [MaxRetryAfter]; 0 says that there is
// nothing to wait for: no value, garbage, a negative number or the past.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if isNumber(value) {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil || seconds > uint64(MaxRetryAfter/time.Second) { // an error is: out of range
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

// Asked is how long the head of an answer asks to wait, 0 if it does not.
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
