package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// AddRunFlags adds what a command takes that is about one run.
func AddRunFlags(f *pflag.FlagSet) {
	f.String("run", "", "`ID` of the run (default: the newest one that is not a plan)")
	f.String("source", "", "use the newest run of the source with this `name`")
}

// SelectRun finds the run that a command is about.
func (f *Factory) SelectRun(ctx context.Context, cmd *cobra.Command, store *state.Store) (state.Run, error) {
	id, _ := cmd.Flags().GetString("run")
	source, err := f.selectedSource(cmd)
	if err != nil {
		return state.Run{}, err
	}
	if id == "" {
		run, err := NewestRun(ctx, store, source)
		if err == nil && run.Num == 0 {
			err = noRunYet(store, source)
		}
		return run, err
	}
	run, err := store.Run(ctx, id)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return run, NoSuchRun(store, id)
	case err == nil && source != "" && run.Pair.Source != source:
		return run, exit.With(exit.CodeNoSuch, fmt.Errorf("run %s is of the source %s", run.ID, ui.Sanitize(run.Pair.Source)), "leave --source or --job out")
	}
	return run, err
}

// selectedSource is the name of the source that a run has to be of, empty for any.
func (f *Factory) selectedSource(cmd *cobra.Command) (string, error) {
	if f.Settings.Job == "" || cmd.Flags().Changed("source") {
		return cmd.Flags().GetString("source")
	}
	return f.SourceName(cmd.Context(), f.Settings.Source)
}

// NoSuchRun is the error of who names a run that the state database does not have.
func NoSuchRun(store *state.Store, id string) error {
	return exit.With(exit.CodeNoSuch, fmt.Errorf("there is no run %s in the journal %s", ui.Sanitize(id), ui.Sanitize(store.Path())),
		"assetferry status lists the runs; another destination has another journal, see --to and --state")
}

// noRunYet is the error of who asks for the newest run where there is none.
func noRunYet(store *state.Store, source string) error {
	what := "there is no run in the journal " + ui.Sanitize(store.Path())
	if source != "" {
		what = fmt.Sprintf("there is no run of the source %s in the journal %s", ui.Sanitize(source), ui.Sanitize(store.Path()))
	}
	return exit.With(exit.CodeNoSuch, errors.New(what), "assetferry status shows sources and runs; a mere plan is named with --run")
}

// NewestRun finds the newest run that was more than a plan, of a source or of all. Without
// one its number is 0.
func NewestRun(ctx context.Context, store *state.Store, source string) (newest state.Run, err error) {
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return newest, err
	}
	for _, p := range pairs {
		if source != "" && p.Source != source {
			continue
		}
		for _, find := range []func(context.Context, int64) (state.Run, error){store.LastApplied, store.Unfinished} {
			run, err := find(ctx, p.ID)
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return newest, err
			}
			if err == nil && run.Num > newest.Num {
				newest = run
			}
		}
	}
	return newest, nil
}

// UnfinishedRun finds the run of a source and a destination that is not finished and no mere
// plan. Without one its number is 0.
func UnfinishedRun(ctx context.Context, store *state.Store, p state.Pair) (state.Run, error) {
	run, err := store.Unfinished(ctx, p.ID)
	if errors.Is(err, state.ErrNotFound) {
		return state.Run{}, nil
	}
	return run, err
}

// DecideRun decides with which run a command works, in a situation but for the unfinished run,
// which it gives, too.
func DecideRun(ctx context.Context, store *state.Store, p state.Pair, s migrate.RunSituation) (unfinished state.Run, d migrate.RunDecision, err error) {
	if s.Unfinished, err = UnfinishedRun(ctx, store, p); err == nil {
		d, err = migrate.DecideRun(s)
	}
	return s.Unfinished, d, err
}
