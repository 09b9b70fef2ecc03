package ratelimit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetferry/internal/retry"
)

// A RequestLimit is the maximum number of requests within a time. The zero RequestLimit has no
// maximum.
type RequestLimit struct {
	Requests int64
	Window   time.Duration // an hour or a day
}

// ParseRequestLimit reads a limit such as 5000/h or 20000/d.
func ParseRequestLimit(text string) (RequestLimit, error) {
	count, unit, _ := strings.Cut(text, "/")
	window, ok := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour}[unit]
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || !ok || n < 1 || n > math.MaxInt32 {
		return RequestLimit{}, fmt.Errorf("%q is not a number of requests an hour or a day, such as 5000/h or 20000/d", text)
	}
	return RequestLimit{n, window}, nil
}

// String returns the limit in the form that ParseRequestLimit reads.
func (l RequestLimit) String() string {
	unit := "h"
	if l.Window == 24*time.Hour {
		unit = "d"
	}
	return fmt.Sprintf("%d/%s", l.Requests, unit)
}

// Requests counts requests by the minute and enforces the limit for any hour or day. A nil
// Requests has no limit.
type Requests struct {
	limit RequestLimit
	now   func() time.Time

	mu      sync.Mutex
	made    map[int64]int64 // by minute since 1970
	total   int64           // of made
	minute  int64           // of the last request
	unsaved map[int64]int64 // not yet returned by TakeCounts
}

// NewRequests returns a counter, or nil if there is no limit.
func NewRequests(limit RequestLimit, now func() time.Time) *Requests {
	if limit.Requests == 0 {
		return nil
	}
	return &Requests{limit: limit, now: now, made: map[int64]int64{}, unsaved: map[int64]int64{}}
}

// Since returns the time from which requests count.
func (r *Requests) Since() time.Time { return r.now().Add(-r.limit.Window) }

// Load adds earlier requests, by minute since 1970.
func (r *Requests) Load(made map[int64]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for minute, n := range made {
		r.made[minute] += n
		r.total += n
	}
}

// TakeCounts returns the requests since its last call, by minute since 1970.
func (r *Requests) TakeCounts() map[int64]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.unsaved
	r.unsaved = map[int64]int64{}
	return counts
}

// take counts a request. It fails if the limit is reached.
func (r *Requests) take() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	minute := r.now().Unix() / 60
	if minute != r.minute || r.total >= r.limit.Requests {
		r.forget(minute)
	}
	if r.total >= r.limit.Requests {
		return &RequestLimitError{Limit: r.limit, Free: r.free()}
	}
	r.minute = minute
	r.made[minute]++
	r.unsaved[minute]++
	r.total++
	return nil
}

// forget drops minutes that no longer count. A minute counts until all of it is outside the
// window.
func (r *Requests) forget(minute int64) {
	first := minute - int64(r.limit.Window/time.Minute)
	for m, n := range r.made {
		if m < first {
			delete(r.made, m)
			r.total -= n
		}
	}
}

// free returns the time at which the oldest minute no longer counts.
func (r *Requests) free() time.Time {
	oldest := slices.Min(slices.Collect(maps.Keys(r.made)))
	return time.Unix((oldest+1)*60, 0).Add(r.limit.Window)
}

// A RequestLimitError reports that the request limit is reached.
type RequestLimitError struct {
	Limit RequestLimit
	Free  time.Time // the time of the next allowed request
}

func (e *RequestLimitError) Error() string {
	return fmt.Sprintf("the limit of %s requests is reached", e.Limit)
}

// Class returns Fatal: the run cannot continue.
func (e *RequestLimitError) Class() retry.Class { return retry.Fatal }

// Hint returns the next step.
func (e *RequestLimitError) Hint() string {
	layout, free := "15:04", e.Free.Local()
	if free.YearDay() != time.Now().YearDay() {
		layout = "2006-01-02 15:04"
	}
	return "run the same command again after " + free.Format(layout) + " to resume"
}
