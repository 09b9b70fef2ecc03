package outbound

import (
	"context"
	"fmt"
	"time"
)

// A Watchdog cancels a stalled request. Timeouts of the transport do not cover bodies, so a worker
// could wait forever.
type Watchdog struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

// Watch returns a context that the watchdog cancels with a [StallError]. It is inactive until Alive
// is called.
func Watch(ctx context.Context, after time.Duration) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	dog := &Watchdog{after: after, cancel: cancel}
	dog.timer = time.AfterFunc(after, func() { cancel(StallError{After: after}) })
	dog.timer.Stop()
	return ctx, dog
}

// Alive resets the watchdog.
func (d *Watchdog) Alive() { d.timer.Reset(d.after) }

// Rest deactivates the watchdog until the next Alive.
func (d *Watchdog) Rest() { d.timer.Stop() }

// Stop ends the watchdog and its context.
func (d *Watchdog) Stop() {
	d.timer.Stop()
	d.cancel(nil)
}

// A StallError means that no byte was transferred for a time, or that the total time is over.
type StallError struct {
	After time.Duration
	Total bool
}

func (e StallError) Error() string {
	if e.Total {
		return fmt.Sprintf("not complete within %v", e.After)
	}
	return fmt.Sprintf("no data for %v", e.After)
}

// Timeout implements net.Error.
func (StallError) Timeout() bool { return true }
