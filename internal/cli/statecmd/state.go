package statecmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/disk"
)

// NewStateCommand returns assetferry state.
func NewStateCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Check, back up and compact the state database",
		Long: `The state database stores what was listed, planned, uploaded and confirmed. It
needs no maintenance in normal operation. These commands are for failures of a
disk or a machine. See assetferry help state for how to restore a backup.
`,
	}
	c.AddCommand(
		stateSub(f, "check", "Check the state database for damage",
			`Check reads every page of the state database and compares it with its checksum.
It also checks whether the tables agree with each other. It changes nothing, and
works while another process is running. Damage is listed line by line, and the
exit code is 4.
`, func(ctx context.Context, path string) error { return stateCheck(ctx, f, path) }),
		stateSub(f, "backup", "Back up the state database",
			`Backup copies the state database to a file beside it, with .backup at the end of
its name. Each finished run does this automatically. The previous backup is
replaced only when the copy is complete.
`, func(ctx context.Context, path string) error { return stateBackup(ctx, f, path) }),
		stateSub(f, "compact", "Return unused space of the state database to the disk",
			`Compact rewrites the state database without unused space. Meanwhile it needs as
much space again.
`, func(ctx context.Context, path string) error { return stateCompact(ctx, f, path) }),
		newPruneCommand(f),
		stateSub(f, "takeover", "Use a state database from another machine, or a restored one",
			`Takeover makes this machine the owner of a state database that another machine
did not close. It is also needed for a copy, for a restored backup, and after
the last writes were lost. Make sure that no other process uses the state
database on any machine: two at once would upload everything twice.

Takeover deletes and uploads nothing. The next run checks the destination before
each upload, and adopts assets that exist already. A state database in use on
this machine is rejected.
`, func(ctx context.Context, path string) error { return stateTakeover(ctx, f, path) }),
	)
	return c
}

// stateSub returns a subcommand of state, which works on the path of the state database.
func stateSub(f *command.Factory, name, short, long string, do func(context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			path, err := f.StatePath(ctx)
			if err != nil {
				return err
			}
			if err := command.MustExist(path); err != nil {
				return err
			}
			f.Out.Notef("State        %s", ui.Sanitize(path))
			return do(ctx, path)
		}),
	}
}

func stateCheck(ctx context.Context, f *command.Factory, path string) error {
	problems, err := findDamage(ctx, f, path)
	switch {
	case err != nil && !errors.Is(err, disk.ErrDamaged):
		return err
	case err != nil && len(problems) == 0: // too much damage for SQLite to list it
		problems = []string{err.Error()}
	}
	for n, p := range problems {
		if n < outcome.ShownProblems || f.Out.Verbose() {
			f.Out.Printf("! %s", ui.Sanitize(p))
		}
		f.Out.Event("check", event.Check{Result: "difference", Message: p})
	}
	if more := len(problems) - outcome.ShownProblems; more > 0 && !f.Out.Verbose() {
		f.Out.Printf("… and %s more: --verbose", ui.Counted(int64(more), "problem"))
	}
	if len(problems) > 0 {
		f.Out.Notef("The state database is damaged: %s", ui.Counted(int64(len(problems)), "problem"))
		f.Out.Notef("Try: restore the backup, see assetferry help state; the file was not changed")
		return exit.Said(exit.CodeDifference)
	}
	f.Out.Printf("The state database is intact.")
	return nil
}

func findDamage(ctx context.Context, f *command.Factory, path string) ([]string, error) {
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	f.CloseLater(store.Close)
	return store.Check(ctx)
}

func stateBackup(ctx context.Context, f *command.Factory, path string) error {
	store, err := f.OpenState(ctx, path)
	if err != nil {
		return err
	}
	backup, err := store.Backup(ctx)
	if err != nil {
		return err
	}
	f.Out.Printf("Backed up to %s", ui.Sanitize(backup))
	return nil
}

func stateCompact(ctx context.Context, f *command.Factory, path string) error {
	store, err := f.OpenState(ctx, path)
	if err != nil {
		return err
	}
	before, after, err := store.Compact(ctx)
	if err != nil {
		return err
	}
	f.Out.Printf("Compacted the state database from %s to %s.", ui.Bytes(before), ui.Bytes(after))
	return nil
}

func stateTakeover(ctx context.Context, f *command.Factory, path string) error {
	if err := f.SecureState(path); err != nil {
		return err
	}
	if err := state.Takeover(ctx, path); err != nil {
		return err
	}
	f.Out.Printf("Took over the state database. The next run checks the destination before each upload.")
	return nil
}
