package retry

import (
	"context"
	"errors"
	"fmt"
)

// ErrDraining reports that something was not started or repeated, because the run is ending in good
// order.
var ErrDraining = errors.New("not started, because the run is ending")

type drainKey struct{}

// WithDrain returns a context in which nothing waits once stop is closed: neither for another
// attempt nor for its turn. Work in progress continues. A nil stop turns that off for work that must
// be done in any case.
func WithDrain(ctx context.Context, stop <-chan struct{}) context.Context {
	return context.WithValue(ctx, drainKey{}, stop)
}

// Draining returns the channel of WithDrain, or nil without one. A nil channel is never closed.
func Draining(ctx context.Context) <-chan struct{} {
	stop, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return stop
}

func isDraining(ctx context.Context) bool {
	select {
	case <-Draining(ctx):
		return true
	default:
		return false
	}
}

// drained returns the error instead of another attempt.
func drained(last error) error { return fmt.Errorf("%w (last attempt: %w)", ErrDraining, last) }
