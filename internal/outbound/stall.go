package outbound

import (
	"context"
	"fmt"
	"time"
)

// A Watchdog cancels a request that stands still: no timeout of the transport looks at
// bodies, and a worker would wait for ever.
type Watchdog struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

// Watch returns a context that the watchdog cancels with a [StallError]. It sleeps until the
// first sign of life.
func Watch(ctx context.Context, after time.Duration) (context.Context, *Watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	dog := &Watchdog{after: after, cancel: cancel}
	dog.timer = time.AfterFunc(after, func() { cancel(StallError{After: after}) })
	dog.timer.Stop()
	return ctx, dog
}

// Alive is a sign of life.
func (d *Watchdog) Alive() { d.timer.Reset(d.after) }

// Rest lets the watchdog sleep until the next sign of life.
func (d *Watchdog) Rest() { d.timer.Stop() }

// Stop ends it, and its context.
func (d *Watchdog) Stop() {
	d.timer.Stop()
	d.cancel(nil)
}

// A StallError says how long nothing moved, or how long all of it may take.
type StallError struct {
	After time.Duration
	Total bool
}

func (e StallError) Error() string {
	if e.Total {
		return fmt.Sprintf("it did not end within %v", e.After)
	}
	return fmt.Sprintf("no byte moved for %v", e.After)
}

// Timeout is true, as of all errors that are about time.
func (StallError) Timeout() bool { return true }
