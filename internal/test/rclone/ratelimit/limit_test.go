//go:build rclone

package ratelimit

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A limit is the rate limit of a storage. It refuses requests beyond its rate, and refuses all for
// some time at the requests in banAt. Some requests are refused whatever their rate, so that a test
// on a slow machine sees refusals, too.
type limit struct {
	http.Handler // serves what is not refused

	mu       sync.Mutex
	served   []time.Time // the last requests that were served, as many as are allowed in a second
	ban      time.Duration
	until    time.Time // end of the ban
	requests int
	answered int
	refused  int // with 403 userRateLimitExceeded
	banned   int // with 429 and Retry-After
}

// banAt are the numbers of the requests at which the storage bans its user: in the listing, and in
// the reads.
var banAt = map[int]bool{20: true, 300: true}

// refusedAlways is how often a request is refused whatever the rate.
const refusedAlways = 100

// newLimit returns the limit of the environment, or a scaled one.
func newLimit(t *testing.T, storage http.Handler) *limit {
	t.Helper()
	perSecond, seconds := 40, 2
	if isReal() {
		var err error
		seconds, err = strconv.Atoi(os.Getenv(realVariable))
		must(t, err)
		perSecond = 10
	}
	return &limit{Handler: storage, served: make([]time.Time, perSecond), ban: time.Duration(seconds) * time.Second}
}

// realVariable is the time of a ban in seconds. With it, the figures are those of real storages.
const realVariable = "ASSETFERRY_TEST_RETRY_AFTER"

func isReal() bool { return os.Getenv(realVariable) != "" }

func (l *limit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch status, wait := l.check(); status {
	case http.StatusForbidden:
		refuse(w, status, "userRateLimitExceeded", "User Rate Limit Exceeded")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		refuse(w, status, "rateLimitExceeded", "Rate Limit Exceeded")
	default:
		l.Handler.ServeHTTP(w, r)
	}
}

// check counts a request, and returns the status of its response.
func (l *limit) check() (status int, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	now := time.Now()
	if banAt[l.requests] {
		l.until = now.Add(l.ban)
	}
	if wait := l.until.Sub(now); wait > 0 {
		l.banned++
		return http.StatusTooManyRequests, wait
	}
	oldest := l.answered % len(l.served)
	if l.requests%refusedAlways == 1 || now.Sub(l.served[oldest]) < time.Second {
		l.refused++
		return http.StatusForbidden, 0
	}
	l.served[oldest] = now
	l.answered++
	return http.StatusOK, 0
}

// refuse answers as the APIs of Google do.
func refuse(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": {"code": %d, "message": %q, "errors": [{"domain": "usageLimits", "reason": %q, "message": %q}]}}`, status, message, reason, message)
}

// String returns the counts for the log of a test.
func (l *limit) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d requests a second: %d requests, %d refused with 403, %d with 429 and Retry-After %.0f", len(l.served), l.requests, l.refused, l.banned, l.ban.Seconds())
}
