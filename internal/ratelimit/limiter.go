// Package pace keeps all requests to one service at a pace that the service can
// stand and that its user allows: one adaptive limiter that all workers share, a
// budget of requests, and a limit of bandwidth.
package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"assetferry/internal/retry"
)

// Options say how a Limiter begins and how far it may go.
type Options struct {
	Max    int    // requests at once at the most, at least 1
	Start  int    // requests at once in the beginning; 0 means 4
	Budget *Calls // of requests in all; may be nil
	// OnPause is told when all requests have to wait; it may be nil. It must not
	// block and is called from whatever goroutine got the answer.
	OnPause func(Pause)
}

// A Pause of all requests has begun, because of the answer to one of them.
type Pause struct {
	Refused bool // the service said so; otherwise it does not answer any more
	Length  time.Duration
}

// An Outcome is what came of a request. The zero Outcome is a good answer.
type Outcome struct {
	Refused    bool          // 429 or 503
	RetryAfter time.Duration // how long the service asked to wait; 0 if it did not
	Silent     bool          // there was no answer at all
	Unknown    bool          // it ended for reasons of our own, which say nothing about the service
	Latency    time.Duration // how long the service thought about it; 0 if that is not known
}

// A Limiter decides when a request may begin. A nil Limiter lets every request
// pass. Its methods may be called from several goroutines.
//
// Three things shape the pace. A window bounds the requests at once: it doubles until
// there is trouble, grows by one for each window-full of good answers from then on, and is
// halved when a request is refused, so it finds out what the service stands. A pause makes
// all wait as soon as one is refused. And since even one request at a time may be a
// thousand a second, a rate is found out once there are refusals (see rate.go).
type Limiter struct {
	budget  *Calls
	onPause func(Pause)

	turn chan struct{} // held by the one request that waits to be next
	free chan struct{} // a request has ended

	mu     sync.Mutex
	window window
	pause  pause
	rate   rate
	busy   int
	begun  int64 // requests so far

	throttling Throttling
	holding    time.Time // since when the next request waits for the rate; zero if none does
}

// Throttling is how much a service slowed its requests down.
type Throttling struct {
	Refused int64         // answers
	Held    time.Duration // for which no request began because of them
}

const defaultStart = 4

// New makes a limiter.
func New(o Options) *Limiter {
	most := max(1, o.Max)
	start := min(most, cmp.Or(o.Start, defaultStart))
	return &Limiter{
		budget: o.Budget, onPause: o.OnPause,
		turn: make(chan struct{}, 1), free: make(chan struct{}, 1),
		pause:  pause{first: startPause},
		window: window{size: float64(start), max: float64(most)},
	}
}

// Begun is how many requests have begun so far.
func (l *Limiter) Begun() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

// Throttling is how much the service slowed requests down so far.
func (l *Limiter) Throttling() Throttling {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.throttling
	if left := l.pause.left(time.Now()); left > 0 { // which has not been waited for
		t.Held = max(0, t.Held-left)
	}
	return t
}

// A Ticket is the permission to make one request.
type Ticket struct {
	limiter *Limiter
	number  int64
}

// Begin waits until a request may be made, in the order in which it was called.
// The request must be ended with End. An error says that it must not be made: the
// context's cause, retry.ErrDraining where it would have to wait, a RequestLimitError.
func (l *Limiter) Begin(ctx context.Context) (Ticket, error) {
	if l == nil {
		return Ticket{}, nil
	}
	if err := l.await(ctx); err != nil {
		return Ticket{}, err
	}
	defer func() { <-l.turn }()
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

// giveUp notes that the request that was to be next is not made.
func (l *Limiter) giveUp(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold(now, false)
}

// hold notes that the next request waits for the rate from now on, or does not.
func (l *Limiter) hold(now time.Time, waits bool) {
	if !l.holding.IsZero() {
		l.throttling.Held += now.Sub(l.holding)
	}
	if l.holding = (time.Time{}); waits {
		l.holding = now
	}
}

// await waits for the turn, which goes round in order.
func (l *Limiter) await(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return interruption(ctx)
	}
}

// forEver is the wait of those who will be woken.
const forEver = 24 * time.Hour

// enter lets a request begin, or says how long to wait before asking again at the
// latest.
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
	if err := l.budget.take(); err != nil {
		return 0, 0, err
	}
	l.busy++
	l.begun++
	l.rate.begin(now)
	return l.begun, 0, nil
}

// idle waits until it is worth to ask again.
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

// interruption is the context's error with its cause.
func interruption(ctx context.Context) error {
	if err, cause := ctx.Err(), context.Cause(ctx); cause != err {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return ctx.Err()
}

// End says what came of the request.
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
		if l.rate.refused(now); l.rate.limit > 0 {
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
		l.rate.good(now)
		l.window.good(number)
		if l.window.isSlow(now, o.Latency) {
			l.window.ease(number, l.begun)
		}
	}
	l.mu.Unlock()
	select {
	case l.free <- struct{}{}:
	default: // somebody will be told already
	}
	if paused > 0 && l.onPause != nil {
		l.onPause(Pause{Refused: o.Refused, Length: paused})
	}
}
