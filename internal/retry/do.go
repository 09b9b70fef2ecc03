package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// MaxFirst is the longest first wait: one refusal says little, so little time is
// spent on it.
const MaxFirst = 100 * time.Millisecond

// A Policy paces tries. The zero Policy is usable.
type Policy struct {
	Attempts int           // tries in all; 0 means 5
	First    time.Duration // upper bound of the first wait, doubled each time; 0 or more than MaxFirst means MaxFirst
	Max      time.Duration // upper bound of a wait that nobody asked for; 0 means 5 s
	Budget   time.Duration // no try begins later than this after the start; 0 means no limit. A try under way is not cut short: uploads take long

	// Rand returns a number in [0, n); nil means a random one. Waits have full
	// jitter, so that many workers do not come back at the same moment.
	Rand func(n time.Duration) time.Duration
}

// A Wait is about to happen, because a try failed.
type Wait struct {
	Attempt int // the try that failed, from 1
	Delay   time.Duration
	Class   Class
	Err     error
}

// Do tries until there is no error, or one that another try does not help
// against, or tries or budget are used up, or the context is done. The last
// error comes back. It looks at the context before each try, waits at least as
// long as the other side asked for, and calls onWait, which may be nil, before
// each wait. Where it would wait or try again while draining (see WithDrain) its
// error is an ErrDraining and the last error.
func (p Policy) Do(ctx context.Context, onWait func(Wait), try func(context.Context) error) error {
	p = p.withDefaults()
	start := time.Now()
	var last error
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return interrupted(ctx, last)
		}
		last = try(ctx)
		if stop, ok := last.(stopped); ok {
			return stop.error
		}
		if last == nil || n >= p.Attempts || ctx.Err() != nil {
			return last
		}
		class, asked := Classify(last)
		delay := p.delay(n, asked)
		if !class.Repeatable() || !p.affords(ctx, start, delay) {
			return last
		}
		if isDraining(ctx) {
			return drained(last)
		}
		if onWait != nil {
			onWait(Wait{Attempt: n, Delay: delay, Class: class, Err: last})
		}
		if err := Sleep(ctx, delay); errors.Is(err, ErrDraining) {
			return drained(last)
		} else if err != nil {
			return interrupted(ctx, last)
		}
	}
}

// Stop wraps an error of a try so that Do gives up at once and returns err as it
// is, whatever its class: where a repetition could do harm.
func Stop(err error) error {
	if err == nil {
		return nil
	}
	return stopped{err}
}

type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

func (p Policy) withDefaults() Policy {
	p.Attempts = cmp.Or(p.Attempts, 5)
	p.Max = cmp.Or(p.Max, 5*time.Second)
	if p.First <= 0 || p.First > MaxFirst {
		p.First = MaxFirst
	}
	if p.Rand == nil {
		p.Rand = rand.N[time.Duration]
	}
	return p
}

// delay is the wait after the n-th try. What the other side asked for is a lower
// bound, so the jitter goes on top.
func (p Policy) delay(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + p.Rand(p.First)
	}
	ceiling := p.First
	for range n - 1 {
		if ceiling >= p.Max {
			break
		}
		ceiling *= 2
	}
	return p.Rand(min(ceiling, p.Max))
}

// affords reports whether a wait ends within the budget and before the context's
// deadline: a wait that ends in giving up is only a late answer.
func (p Policy) affords(ctx context.Context, start time.Time, delay time.Duration) bool {
	if p.Budget > 0 && time.Since(start)+delay > p.Budget {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > delay
}

// Sleep waits. It ends early with the context's cause, or with ErrDraining. Where
// there is nothing to wait for, it does not mind the draining.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-Draining(ctx):
		return ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// interrupted is the context's error and cause, with the reason why we were
// still trying.
func interrupted(ctx context.Context, last error) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	} else {
		err = cause
	}
	if last == nil {
		return err
	}
	return fmt.Errorf("%w (last try: %w)", err, last)
}
