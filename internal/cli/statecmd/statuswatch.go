package statecmd

import (
	"context"
	"errors"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/clock"
	"assetferry/internal/runstatus"
	"assetferry/state"
)

// follow shows the newest run until it ends or its process has ended.
func follow(ctx context.Context, f *command.Factory, store *state.Store) error {
	newest := func(ctx context.Context) (state.Run, error) {
		return command.NewestRun(ctx, store, "", "")
	}
	w := &runstatus.Follower{
		Out: f.Out, Now: clock.Now,
		Look: func(ctx context.Context) (runstatus.Observation, error) {
			return runstatus.Observe(ctx, store, newest)
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
		return command.Because(ctx, err)
	}
	return endOfWatch(ctx, f, store, last)
}

// endOfWatch shows the result. Objects that are left are not a success.
func endOfWatch(ctx context.Context, f *command.Factory, store *state.Store, o runstatus.Observation) error {
	if o.Run.ID == "" {
		f.Out.Printf("No runs yet.")
		return nil
	}
	items := outcome.Describe(o.Tallies)
	skips, err := outcome.SkippedText(ctx, store, o.Run, o.Tallies)
	if err != nil {
		return err
	}
	if skips != "" {
		items += "\n" + outcome.Wrapped(skips, "  ")
	}
	f.Out.Event("summary", recorded(o.Run, o.Tallies))
	if o.Run.Open() {
		command, err := outcome.ToGoOn(ctx, f, store, o.Run)
		if err != nil {
			return err
		}
		f.Out.Printf("Run %s stopped before it was finished: %s", o.Run.ID, items)
		f.Out.Next("Resume the run:", command)
		return exit.Said(exit.CodeItems)
	}
	f.Out.Printf("Run %s is %s: %s", o.Run.ID, o.Run.State, items)
	if code := outcome.ExitOf(o.Tallies); code != exit.CodeDone {
		f.Out.Next("Show the causes and how to fix them:", f.Again("report", nil))
		return exit.Said(code)
	}
	return nil
}

func watchStatus(ctx context.Context, f *command.Factory) error {
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	if _, err := showHolder(ctx, f, store); err != nil {
		return err
	}
	err = follow(ctx, f, store)
	if errors.Is(err, exit.ErrInterrupted) {
		f.Out.Notef("Stopped watching; the run continues.")
		return exit.Said(exit.CodeInterrupted)
	}
	return err
}
