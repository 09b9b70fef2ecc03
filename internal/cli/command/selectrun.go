package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// AddRunFlags adds the flags that select a run.
func AddRunFlags(f *pflag.FlagSet) {
	f.String("run", "", "`ID` of the run (default: the newest one that is not a plan)")
	f.String("source", "", "use the newest run of the source with this `name`")
	cmdline.Setting(f, "wave", "use the newest run of the wave with this `name`")
}

// SelectRun returns the run that the flags select.
func (f *Factory) SelectRun(ctx context.Context, cmd *cobra.Command, store *state.Store) (state.Run, error) {
	id, _ := cmd.Flags().GetString("run")
	source, err := f.selectedSource(cmd)
	if err != nil {
		return state.Run{}, err
	}
	if id == "" {
		run, err := NewestRun(ctx, store, source, f.Settings.Wave)
		if err == nil && run.Num == 0 {
			err = noRunYet(store, source, f.Settings.Wave)
		}
		return run, err
	}
	run, err := store.Run(ctx, id)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return run, NoSuchRun(store, id)
	case err == nil && source != "" && run.Pair.Source != source:
		return run, exit.With(exit.CodeNoSuch, fmt.Errorf("run %s belongs to the source %s", run.ID, ui.Sanitize(run.Pair.Source)), "omit --source or --job")
	}
	return run, err
}

// selectedSource returns the source that the run must have; empty for any.
func (f *Factory) selectedSource(cmd *cobra.Command) (string, error) {
	if f.Settings.Job == "" || cmd.Flags().Changed("source") {
		return cmd.Flags().GetString("source")
	}
	return f.SourceName(cmd.Context(), f.Settings.Source)
}

// NoSuchRun is the error for a run that is not in the state database.
func NoSuchRun(store *state.Store, id string) error {
	return exit.With(exit.CodeNoSuch, fmt.Errorf("no run %s in the state database %s", ui.Sanitize(id), ui.Sanitize(store.Path())),
		"check --to and --state: each destination has its own state database. To list the runs of this one:\n  "+cmdline.Line("runs", cmdline.WithValue("state", store.Path())))
}

// noRunYet is the error for the newest run if there is none.
func noRunYet(store *state.Store, source, wave string) error {
	what := "no run yet in the state database " + ui.Sanitize(store.Path())
	if wave != "" {
		what = fmt.Sprintf("no run of wave %s in the state database %s", wave, ui.Sanitize(store.Path()))
	}
	if source != "" {
		what = fmt.Sprintf("no run of the source %s in the state database %s", ui.Sanitize(source), ui.Sanitize(store.Path()))
	}
	return exit.With(exit.CodeNoSuch, errors.New(what), "list the sources and their runs (--run ID also selects a plan):\n  "+cmdline.Line("status", cmdline.WithValue("state", store.Path())))
}

// NewestRun returns the newest run of one source or of all that is not a plan, and of one wave or of
// all. If there is none, its number is 0.
func NewestRun(ctx context.Context, store *state.Store, source, wave string) (newest state.Run, err error) {
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return newest, err
	}
	for _, p := range pairs {
		if source != "" && p.Source != source {
			continue
		}
		p.Wave = wave
		for _, find := range []func(context.Context, state.Pair) (state.Run, error){store.LastApplied, store.Unfinished} {
			run, err := find(ctx, p)
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return newest, err
			}
			if err == nil && run.Num > newest.Num && (wave == "" || run.Pair.Wave == wave) {
				newest = run
			}
		}
	}
	return newest, nil
}

// UnfinishedRun returns the unfinished run of a source and a destination that is not a plan. If
// there is none, its number is 0.
func UnfinishedRun(ctx context.Context, store *state.Store, p state.Pair) (state.Run, error) {
	run, err := store.Unfinished(ctx, p)
	if errors.Is(err, state.ErrNotFound) {
		return state.Run{}, nil
	}
	return run, err
}

// DecideRun decides which run a command continues. It fills in the unfinished run of the situation,
// and returns it too.
func DecideRun(ctx context.Context, store *state.Store, p state.Pair, s migrate.RunSituation) (unfinished state.Run, d migrate.RunDecision, err error) {
	if s.Unfinished, err = UnfinishedRun(ctx, store, p); err == nil {
		d, err = migrate.DecideRun(s)
	}
	return s.Unfinished, d, err
}
