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

// NewStateCommand makes assetferry state.
func NewStateCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Check, back up, compact or take over the state database",
		Long: `The state database records all listed, planned and uploaded objects. Normally,
it needs no maintenance. These commands help after a disk or machine failure:
see assetferry help state.
`,
	}
	c.AddCommand(
		stateSub(f, "check", "Check the state database for damage",
			`Check reads every page of the state database, and compares it with its checksum
and with other pages. Check also verifies the action log. It changes nothing,
and works while a run is in progress. It lists each damaged part on a line and
ends with exit code 4.
`, func(ctx context.Context, path string) error { return stateCheck(ctx, f, path) }),
		stateSub(f, "backup", "Back up the state database to a file beside it",
			`Backup copies the state database to a file with the same name and the suffix
.backup. The new copy replaces the previous one completely or not at all. Every
run also does this when it finishes.
`, func(ctx context.Context, path string) error { return stateBackup(ctx, f, path) }),
		stateSub(f, "compact", "Return unused space of the state database to the disk",
			`Compact rewrites the state database to its smallest size. It needs free disk
space for a second copy.
`, func(ctx context.Context, path string) error { return stateCompact(ctx, f, path) }),
		newLogCommand(f),
		newPruneCommand(f),
		newForgetCommand(f),
		stateSub(f, "takeover", "Take over a state database from another machine or a backup",
			`Takeover makes this machine the owner of a state database. Use it if another
machine did not close the database. Also use it if the file is a copy or a
restored backup, or lost its last writes. First make sure that no other process
uses the database on any machine. Two processes would upload everything twice.

Takeover deletes nothing and sends nothing. The next run checks the destination
before it uploads anything, and adopts existing assets. Takeover refuses a
database that is in use on this machine.
`, func(ctx context.Context, path string) error { return stateTakeover(ctx, f, path) }),
	)
	return c
}

// stateSub makes a command below state, which gets the path of the state database.
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
	case err != nil && len(problems) == 0: // SQLite lists no details
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
		f.Out.Notef("The file was not changed.\nTry: restore the backup (see assetferry help state)")
		return exit.Said(exit.CodeDifference)
	}
	f.Out.Printf("The state database is not damaged.")
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
	f.Out.Printf("The state database was %s and is now %s.", ui.Bytes(before), ui.Bytes(after))
	return nil
}

func stateTakeover(ctx context.Context, f *command.Factory, path string) error {
	if err := f.SecureState(path); err != nil {
		return err
	}
	if err := state.Takeover(ctx, path); err != nil {
		return err
	}
	f.Out.Printf("This machine owns the state database now. The next run checks the destination before it uploads anything.")
	return nil
}
