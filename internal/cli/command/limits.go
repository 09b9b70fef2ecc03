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

// countEvery is how often the requests that were made go into the journal.
const countEvery = time.Second

// AddLimitFlags adds what keeps a run within bounds.
func AddLimitFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "max-requests", "at most so many requests within any hour or day: `5000/h`, 20000/d")
	cmdline.Setting(f, "max-duration", "stop after this `duration`")
	cmdline.Setting(f, "until", "stop at this `time` of day, such as 06:00")
	cmdline.Setting(f, "bwlimit", "`bytes` a second to send at most, such as 2M; with a timetable: 08:00,512K 19:00,off")
}

// StartWindow ends the command in good order when its time is up, until the
// function it returns is called.
func (f *Factory) StartWindow() (stop func()) {
	now := clock.Now()
	end, limited := f.Settings.WindowEnd(now)
	if !limited {
		return func() {}
	}
	f.Out.Notef("Ends         %s at the latest", end.Local().Format(time.DateTime))
	timer := time.AfterFunc(end.Sub(now), func() {
		f.endEarly(exit.ErrWindow, "The time given to this run is up: finishing what has begun. Interrupt to abort it.")
	})
	return func() { timer.Stop() }
}

const (
	// worthTelling is the length from which people hear of a pause; progress stands
	// still for shorter ones hardly long enough to be seen.
	worthTelling = 2 * time.Second
	tellEvery    = 30 * time.Second
)

// limiter keeps all requests to a destination at one pace.
func (f *Factory) limiter(calls *ratelimit.Calls) *ratelimit.Limiter {
	return ratelimit.New(ratelimit.Options{Max: f.Settings.Concurrency, Budget: calls, OnPause: f.pauses()})
}

// pauses tells of pauses: the log of all, people of those that they would notice,
// now and then.
func (f *Factory) pauses() func(ratelimit.Pause) {
	var mu sync.Mutex
	var told time.Time
	return func(p ratelimit.Pause) {
		f.Out.Log().Info("pause", "length", p.Length, "refused", p.Refused)
		mu.Lock()
		defer mu.Unlock()
		if p.Length < worthTelling || time.Since(told) < tellEvery {
			return
		}
		told = time.Now()
		why := "does not answer"
		if p.Refused {
			why = "asks to slow down"
		}
		f.Out.Notef("The service %s: all requests wait %s.", why, ui.Duration(p.Length))
	}
}

// ThrottledText says how long the service slowed a run down; nothing where nobody would have
// noticed.
func ThrottledText(t ratelimit.Throttling, took time.Duration) string {
	const long, short = 10 * time.Second, time.Second // the one is noticed in any run, the other in none
	if t.Held < short || t.Held < min(long, took/10) {
		return ""
	}
	return fmt.Sprintf("The service asked to slow down: requests waited %s because of %s (429 or 503).", ui.Duration(t.Held), ui.Counted(t.Refused, "refusal"))
}

// A meter writes the requests that a budget counts into the journal.
type meter struct {
	calls       *ratelimit.Calls
	store       *state.Store
	destination string
}

// loadBudget tells a budget what former runs used. That comes before the first
// request.
func (f *Factory) loadBudget(ctx context.Context, d *Destination, path string) error {
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

// StartMeter has the journal know what this run uses of a budget.
func (f *Factory) StartMeter(ctx context.Context, d *Destination, store *state.Store) {
	if d.calls == nil {
		return
	}
	m := &meter{d.calls, store, d.Identity()}
	f.CloseLater(m.start(context.WithoutCancel(ctx)))
}

// start saves the counts now and then, and once more when it is stopped.
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
