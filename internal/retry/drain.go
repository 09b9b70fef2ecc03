package retry

import (
	"context"
	"errors"
	"fmt"
)

// ErrDraining says that something was not begun, or not tried again, because the
// run is being ended in good order.
var ErrDraining = errors.New("not begun any more")

type drainKey struct{}

// WithDrain returns a context under which nothing waits any more once stop is
// closed: neither for another try nor for its turn. What has begun goes on. A nil
// stop switches that off for what must be done even then.
func WithDrain(ctx context.Context, stop <-chan struct{}) context.Context {
	return context.WithValue(ctx, drainKey{}, stop)
}

// Draining gives the channel that WithDrain put into a context, nil if there is
// none: nobody closes that.
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

// drained is the error where there is no other try.
func drained(last error) error { return fmt.Errorf("%w (last try: %w)", ErrDraining, last) }
