package assets

import (
	"net/http"
	"sync"
	"time"
)

// maxRoundTrip is the longest request for reading the clock: longer ones are less exact.
const maxRoundTrip = 10 * time.Second

// A clock knows the difference between the server clock and the local clock.
type clock struct {
	mu    sync.Mutex
	known bool
	diff  time.Duration
}

func (c *clock) skew() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.diff, c.known
}

// observe reads the Date header of a response, with the local times of request and response.
// The monotonic clock measures the duration, because the local clock may be set in between.
func (c *clock) observe(date string, sent, received time.Time) {
	server, err := http.ParseTime(date)
	took := received.Sub(sent)
	if err != nil || took < 0 || took > maxRoundTrip {
		return
	}
	received = received.Round(0)
	diff := skewOf(server, received.Add(-took), received)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diff, c.known = diff, true
}

// observe reads the server time of a response and adjusts the clocks of tokens if configured.
// It also detects a sandbox.
func (c *Client) observe(resp *http.Response, s *sending) {
	c.sandbox.Store(resp.Header.Get(sandboxHeader) != "")
	c.clock.observe(resp.Header.Get("Date"), s.sent(), c.now())
	c.followServer()
}

// skewOf returns the difference of two clocks in seconds. The server read its clock between
// sent and received and dropped the fraction, so the difference has two bounds. The result is
// zero if possible, else the middle.
func skewOf(server, sent, received time.Time) time.Duration {
	sent, received = sent.Round(0), received.Round(0) // wall clock, which may be wrong
	low, high := server.Sub(received), server.Add(time.Second).Sub(sent)
	if low <= 0 && high >= 0 {
		return 0
	}
	return (low + (high-low)/2).Round(time.Second)
}
