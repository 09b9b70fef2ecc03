package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// MaxFirst is the longest first wait: one refusal says little, so the wait is short.
const MaxFirst = 100 * time.Millisecond

// A Policy sets the number and the delays of attempts. The zero Policy is usable.
type Policy struct {
	Attempts int           // attempts in total; 0 means 5
	First    time.Duration // upper bound of the first wait, doubled each time; 0 or more than MaxFirst means MaxFirst
	Max      time.Duration // upper bound of a wait that the other side did not ask for; 0 means 5 s
	MaxTime  time.Duration // no attempt starts later than this after the first; 0 means no limit. An attempt in progress is not interrupted: uploads take long

	// Rand returns a number in [0, n); nil means a random one. Waits have full jitter, so that many
	// workers do not continue at the same time.
	Rand func(n time.Duration) time.Duration
}

// A Wait follows a failed attempt.
type Wait struct {
	Attempt int // number of the failed attempt, from 1
	Delay   time.Duration
	Class   Class
	Err     error
}

// Do repeats an attempt until it succeeds, fails with an error that is not repeatable, reaches a
// limit of the policy, or the context is done. It returns the last error. It checks the context
// before each attempt, waits at least as long as the other side asked for, and calls onWait before
// each wait, unless that is nil. While draining (see WithDrain), it returns ErrDraining and the last
// error instead of another attempt.
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

// Stop wraps an error so that Do returns err at once, whatever its class. It is for attempts that
// must not be repeated.
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

// delay returns the wait after the n-th attempt. The wait that the other side asked for is a lower
// bound, so the jitter is added.
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

// affords reports whether a wait ends within MaxTime and before the context's deadline. A longer
// wait would only delay the error.
func (p Policy) affords(ctx context.Context, start time.Time, delay time.Duration) bool {
	if p.MaxTime > 0 && time.Since(start)+delay > p.MaxTime {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > delay
}

// Sleep waits. It ends early with the context's cause or with ErrDraining. Without a wait it ignores
// draining.
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

// interrupted returns the context's error and cause with the error of the last attempt.
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
	return fmt.Errorf("%w (last attempt: %w)", err, last)
}
