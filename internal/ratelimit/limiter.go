// Package ratelimit limits the requests to one service: an adaptive rate limiter that all workers
// share, a request limit, and a bandwidth limit.
package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"assetferry/internal/retry"
)

// Options configure a Limiter.
type Options struct {
	Max      int       // maximum of requests at the same time, at least 1
	Start    int       // requests at the same time at the start; 0 means 4
	Requests *Requests // request limit; may be nil
	// OnPause is called when all requests have to wait; it may be nil. It must not block. It is
	// called from the goroutine that received the response.
	OnPause func(Pause)
}

// A Pause is a wait of all requests, caused by the response to one of them.
type Pause struct {
	Refused bool // by the service; otherwise the service no longer responds
	Length  time.Duration
}

// An Outcome is the result of a request. The zero Outcome is a success.
type Outcome struct {
	Refused    bool          // 429 or 503
	RetryAfter time.Duration // requested by the service; 0 if it was not
	Silent     bool          // no response
	Unknown    bool          // ended by this process, without information about the service
	Latency    time.Duration // response time of the service; 0 if unknown
}

// A Limiter decides when a request may begin. A nil Limiter has no limit. Its methods may be
// called from several goroutines.
//
// It has three parts. A window limits the requests at the same time. It doubles until the first
// problem, then grows by one for each window of successes, and is halved by each refusal. A pause
// makes all requests wait as soon as one is refused. A rate is measured once there are refusals,
// since even one request at a time can be a thousand per second (see rate.go).
type Limiter struct {
	requests *Requests
	onPause  func(Pause)

	next chan struct{} // held by the request that is next
	free chan struct{} // a request has ended

	mu     sync.Mutex
	window window
	pause  pause
	rate   rate
	busy   int
	begun  int64 // requests so far

	throttling Throttling
	holding    time.Time // start of the wait for the rate; zero without one
}

// Throttling is how much a service slowed down the requests.
type Throttling struct {
	Refused int64         // responses 429 and 503
	Held    time.Duration // time without new requests because of them
}

const defaultStart = 4

// New returns a limiter.
func New(o Options) *Limiter {
	most := max(1, o.Max)
	start := min(most, cmp.Or(o.Start, defaultStart))
	return &Limiter{
		requests: o.Requests, onPause: o.OnPause,
		next: make(chan struct{}, 1), free: make(chan struct{}, 1),
		pause:  pause{first: startPause},
		window: window{size: float64(start), max: float64(most)},
	}
}

// Begun returns the number of requests that have begun.
func (l *Limiter) Begun() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// Throttling returns how much the service has slowed down the requests.
func (l *Limiter) Throttling() Throttling {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.throttling
	if left := l.pause.left(time.Now()); left > 0 { // not waited for yet
		t.Held = max(0, t.Held-left)
	}
	return t
}

// A Ticket is the permission to make one request.
type Ticket struct {
	limiter *Limiter
	number  int64
}

// Begin waits until a request may be made, in the order of the calls. The request must be ended
// with End. After an error it must not be made: the context's cause, retry.ErrDraining instead of
// a wait, or a RequestLimitError.
func (l *Limiter) Begin(ctx context.Context) (Ticket, error) {
	if l == nil {
		return Ticket{}, nil
	}
	if err := l.await(ctx); err != nil {
		return Ticket{}, err
	}
	defer func() { <-l.next }()
	for {
		number, wait, err := l.enter(time.Now())
		if err != nil {
			return Ticket{}, err
		}
		if wait == 0 {
			return Ticket{l, number}, nil
		}
		if err := l.idle(ctx, wait); err != nil {
			l.giveUp(time.Now())
			return Ticket{}, err
		}
	}
}

// giveUp records that the next request is not made.
func (l *Limiter) giveUp(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold(now, false)
}

// hold records whether the next request waits for the rate from now on.
func (l *Limiter) hold(now time.Time, waits bool) {
	if !l.holding.IsZero() {
		l.throttling.Held += now.Sub(l.holding)
	}
	if l.holding = (time.Time{}); waits {
		l.holding = now
	}
}

// await waits until the request is the next one.
func (l *Limiter) await(ctx context.Context) error {
	select {
	case l.next <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.next <- struct{}{}:
		return nil
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return interruption(ctx)
	}
}

// forEver is the wait of a request that another goroutine wakes.
const forEver = 24 * time.Hour

// enter lets a request begin, or returns the maximum wait before the next call.
func (l *Limiter) enter(now time.Time) (number int64, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold(now, false)
	if wait = l.pause.left(now); wait > 0 {
		return 0, wait, nil
	}
	if l.busy >= int(l.window.size) {
		l.window.pressed = l.begun
		return 0, forEver, nil
	}
	if wait = l.rate.left(now); wait > 0 {
		l.hold(now, true)
		return 0, wait, nil
	}
	if err := l.requests.take(); err != nil {
		return 0, 0, err
	}
	l.busy++
	l.begun++
	l.rate.begin(now)
	return l.begun, 0, nil
}

// idle waits until the next call of enter is useful.
func (l *Limiter) idle(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait < forEver {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-l.free:
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return interruption(ctx)
	}
	return nil
}

// interruption returns the context's error with its cause.
func interruption(ctx context.Context) error {
	if err, cause := ctx.Err(), context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return ctx.Err()
}

// End records the outcome of the request.
func (t Ticket) End(o Outcome) {
	if t.limiter != nil {
		t.limiter.end(t.number, o, time.Now())
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (l *Limiter) end(number int64, o Outcome, now time.Time) {
	l.mu.Lock()
	l.busy--
	var paused time.Duration
	switch {
	case o.Refused:
		l.throttling.Refused++
		l.window.cut(number, l.begun)
		if l.rate.refused(number, l.begun, now); l.rate.limit > 0 {
			l.pause.first = firstPause
		}
		before := latest(now, l.pause.until)
		paused = l.pause.refused(number, l.begun, now, o.RetryAfter)
		l.throttling.Held += latest(now, l.pause.until).Sub(before)
	case o.Silent:
		paused = l.pause.silent(number, l.begun, now)
	case o.Unknown:
	default:
		l.pause.over()
		l.rate.good(number, now)
		l.window.good(number)
		if l.window.isSlow(now, o.Latency) {
			l.window.ease(number, l.begun)
		}
	}
	l.mu.Unlock()
	select {
	case l.free <- struct{}{}:
	default: // a wake-up is pending already
	}
	if paused > 0 && l.onPause != nil {
		l.onPause(Pause{Refused: o.Refused, Length: paused})
	}
}
