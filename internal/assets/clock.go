package assets

import (
	"net/http"
	"sync"
	"time"
)

// maxRoundTrip is the longest exchange that a clock is read from: the longer it
// takes, the less its Date header says.
const maxRoundTrip = 10 * time.Second

// A clock knows how the server's clock differs from ours.
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

// observe learns from the Date header of an answer to a request that was sent
// and answered at these times of our clock. How long that took says the clock that nobody
// sets, if there is one: ours may have been set in between.
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

// observe learns the server's time from an answer, and lets our tokens follow it
// if they should. It also learns who answers.
func (c *Client) observe(resp *http.Response, s *sending) {
	c.sandbox.Store(resp.Header.Get(sandboxHeader) != "")
	c.clock.observe(resp.Header.Get("Date"), s.sent(), c.now())
	c.followServer()
}

// skewOf is the difference of two clocks to the second. The server read its
// clock between sent and received, and cut the fraction of its second: so the
// difference lies between two bounds. Zero if that is possible, else the middle.
func skewOf(server, sent, received time.Time) time.Duration {
	sent, received = sent.Round(0), received.Round(0) // by the wall, which is what may be wrong
	low, high := server.Sub(received), server.Add(time.Second).Sub(sent)
	if low <= 0 && high >= 0 {
		return 0
	}
	return (low + (high-low)/2).Round(time.Second)
}
