package ratelimit

import "time"

// Simulated is a Limiter in virtual time. Its methods get the time and never wait. It is not safe
// for concurrent use.
type Simulated struct{ limiter *Limiter }

// NewSimulated returns a limiter that decides like that of New. It has no request limit.
func NewSimulated(o Options) Simulated {
	o.Requests = nil
	return Simulated{New(o)}
}

// Begin begins the next request and returns its number, or the time until the next attempt. If
// woken is true, the next attempt may also succeed when a request ends.
func (s Simulated) Begin(now time.Time) (number int64, wait time.Duration, woken bool) {
	number, wait, _ = s.limiter.enter(now) // errors come from the request limit only
	return number, wait, wait == forEver
}

// End records the outcome of a request.
func (s Simulated) End(number int64, o Outcome, now time.Time) { s.limiter.end(number, o, now) }

// Throttling returns how much the service has slowed down the requests.
func (s Simulated) Throttling() Throttling { return s.limiter.throttling }
