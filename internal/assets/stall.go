package assets

import (
	"context"
	"fmt"
	"time"
)

// A watchdog cancels a request whose body stands still: no timeout of the
// transport looks at that, and a worker would wait for ever.
type watchdog struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

// watch returns a context that the watchdog cancels. It sleeps until the first
// sign of life.
func watch(ctx context.Context, after time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	dog := &watchdog{after: after, cancel: cancel}
	dog.timer = time.AfterFunc(after, func() { cancel(stallError{after}) })
	dog.timer.Stop()
	return ctx, dog
}

func (d *watchdog) alive() { d.timer.Reset(d.after) }
func (d *watchdog) rest()  { d.timer.Stop() }

func (d *watchdog) stop() {
	d.timer.Stop()
	d.cancel(nil)
}

type stallError struct{ after time.Duration }

func (e stallError) Error() string { return fmt.Sprintf("no byte moved for %v", e.after) }
func (stallError) Timeout() bool   { return true }
