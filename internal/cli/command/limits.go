package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/ratelimit"
	"assetferry/internal/ui"
	"assetferry/state"
)

// countEvery is the interval at which counted requests are stored.
const countEvery = time.Second

// AddLimitFlags adds the limits of a run.
func AddLimitFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "max-requests", "maximum `number` of requests per hour or day, such as 5000/h or 20000/d")
	cmdline.Setting(f, "max-duration", "stop after this `duration`")
	cmdline.Setting(f, "until", "stop at this `time` of day, such as 06:00")
	cmdline.Setting(f, "bwlimit", "maximum upload `rate` in bytes per second, such as 2M, or a timetable such as 08:00,512K 19:00,off")
}

// StartWindow drains the command at the end of its time window, until the returned function is
// called.
func (f *Factory) StartWindow() (stop func()) {
	now := clock.Now()
	end, limited := f.Settings.WindowEnd(now)
	if !limited {
		return func() {}
	}
	if f.Out.Verbose() {
		f.Out.Notef("Ends         %s at the latest", end.Local().Format(time.DateTime))
	}
	timer := time.AfterFunc(end.Sub(now), func() {
		f.endEarly(exit.ErrWindow, "The time window has ended: finishing work in progress. Interrupt to abort it.")
	})
	return func() { timer.Stop() }
}

const (
	// minShownPause is the length of the shortest pause that is shown. Shorter ones hardly stop the
	// progress display.
	minShownPause = 2 * time.Second
	pauseInterval = 30 * time.Second
)

// limiter limits all requests to a destination.
func (f *Factory) limiter(calls *ratelimit.Requests) *ratelimit.Limiter {
	return ratelimit.New(ratelimit.Options{Max: f.Settings.Concurrency, Requests: calls, OnPause: f.pauses()})
}

// pauses logs every pause, and shows long ones from time to time.
func (f *Factory) pauses() func(ratelimit.Pause) {
	var mu sync.Mutex
	var lastShown time.Time
	return func(p ratelimit.Pause) {
		f.Out.Log().Info("pause", "length", p.Length, "refused", p.Refused)
		mu.Lock()
		defer mu.Unlock()
		if p.Length < minShownPause || time.Since(lastShown) < pauseInterval {
			return
		}
		lastShown = time.Now()
		why := "does not answer"
		if p.Refused {
			why = "asks to slow down"
		}
		f.Out.Notef("The service %s: all requests wait %s.", why, ui.Duration(p.Length))
	}
}

// ThrottledText returns how long the service slowed a run down. It is empty for a negligible time.
func ThrottledText(t ratelimit.Throttling, took time.Duration) string {
	const long, short = 10 * time.Second, time.Second // a wait above long is always shown, one below short never
	if t.Held < short || t.Held < min(long, took/10) {
		return ""
	}
	return fmt.Sprintf("The service slowed the run down: requests waited %s because of %s (429 or 503).", ui.Duration(t.Held), ui.Counted(t.Refused, "refusal"))
}

// A meter stores the requests that count against a limit.
type meter struct {
	calls       *ratelimit.Requests
	store       *state.Store
	destination string
}

// loadRequestCount loads the requests of earlier runs into a limit. It runs before the first request.
func (f *Factory) loadRequestCount(ctx context.Context, d *Destination, path string) error {
	if d.calls == nil {
		return nil
	}
	store, err := state.OpenReadOnly(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer store.Close()
	used, err := store.Requests(ctx, d.Identity(), d.calls.Since())
	d.calls.Load(used)
	return err
}

// StartMeter stores the requests of this run that count against a limit.
func (f *Factory) StartMeter(ctx context.Context, d *Destination, store *state.Store) {
	if d.calls == nil {
		return
	}
	m := &meter{d.calls, store, d.Identity()}
	f.CloseLater(m.start(context.WithoutCancel(ctx)))
}

// start stores the counts at intervals, and a last time when it is stopped.
func (m *meter) start(ctx context.Context) (stop func() error) {
	done := make(chan struct{})
	var err error
	var saving sync.WaitGroup
	saving.Go(func() {
		tick := time.NewTicker(countEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				err = errors.Join(err, m.save(ctx))
			case <-done:
				err = errors.Join(err, m.save(ctx))
				return
			}
		}
	})
	return func() error { close(done); saving.Wait(); return err }
}

func (m *meter) save(ctx context.Context) error {
	counts := m.calls.TakeCounts()
	if len(counts) == 0 {
		return nil
	}
	return m.store.AddRequests(ctx, m.destination, counts)
}
