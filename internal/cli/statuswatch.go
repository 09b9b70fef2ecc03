package cli

import (
	"context"
	"errors"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/runstatus"
	"assetferry/state"
)

// follow shows the newest run of the journal until it is over or nobody works on it.
func (a *app) follow(ctx context.Context, journal *state.Store) error {
	newest := func(ctx context.Context) (state.Run, error) { return newestRun(ctx, journal, "") }
	w := &runstatus.Follower{
		Out: a.out, Now: clock.Now,
		Look: func(ctx context.Context) (runstatus.Observation, error) {
			return runstatus.Observe(ctx, journal, newest)
		},
		Pause: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(d):
				return nil
			}
		},
	}
	last, err := w.Follow(ctx)
	if err != nil {
		return because(ctx, err)
	}
	return a.endOfWatch(ctx, journal, last)
}

// endOfWatch tells how it came out, and does not let what is missing look like success.
func (a *app) endOfWatch(ctx context.Context, journal *state.Store, o runstatus.Observation) error {
	if o.Run.ID == "" {
		a.out.Printf("No run has begun yet.")
		return nil
	}
	items := describe(o.Tallies)
	skips, err := skippedText(ctx, journal, o.Run, o.Tallies)
	if err != nil {
		return err
	}
	if skips != "" {
		items += "\n" + wrapped(skips, "  ")
	}
	a.out.Event("summary", recorded(o.Run, o.Tallies))
	if o.Run.Open() {
		command, err := a.toGoOn(ctx, journal, o.Run)
		if err != nil {
			return err
		}
		a.out.Printf("Run %s is not finished, and nobody works on it: %s", o.Run.ID, items)
		a.out.Notef("Try: %s goes on with it", command)
		return said(exitItems)
	}
	a.out.Printf("Run %s is %s: %s", o.Run.ID, o.Run.State, items)
	if code := exitOf(o.Tallies); code != exitDone {
		a.out.Notef("Try: assetferry report tells what to do about what did not arrive")
		return said(code)
	}
	return nil
}

func (a *app) watchStatus(ctx context.Context) error {
	journal, err := a.readJournal(ctx)
	if err != nil {
		return err
	}
	if _, err := a.showHolder(ctx, journal); err != nil {
		return err
	}
	err = a.follow(ctx, journal)
	if errors.Is(err, errInterrupted) {
		a.out.Notef("Nobody watches any more; the run is left alone.")
		return said(exitInterrupted)
	}
	return err
}
