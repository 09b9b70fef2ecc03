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

// NewStateCommand looks after the journal.
func NewStateCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Look after the journal: check it, back it up, make it smaller",
		Long: `The journal remembers what was listed, planned, sent and confirmed. It looks
after itself; these commands are for the day when a disk or a machine did not.
assetferry help state tells the whole story, with a drill for restoring it.
`,
	}
	c.AddCommand(
		stateSub(f, "check", "Read all of the journal and say whether it is whole",
			`Check reads every page of the journal, compares it with its checksum, and its
parts with each other. It changes nothing. It works while another process is at
work, which has compared the checksums when it began. Damage that is found is
told line by line, and ends with exit code 4.
`, func(ctx context.Context, path string) error { return stateCheck(ctx, f, path) }),
		stateSub(f, "backup", "Write a copy of the journal beside it",
			`Backup writes the journal to a file of the same name with .backup at its end. A
run does that by itself whenever it finishes. The copy takes the place of the
one before at once or not at all.
`, func(ctx context.Context, path string) error { return stateBackup(ctx, f, path) }),
		stateSub(f, "compact", "Give back the space that the journal does not use",
			`Compact rewrites the journal so that it is as small as it can be. For a moment
that takes as much space again.
`, func(ctx context.Context, path string) error { return stateCompact(ctx, f, path) }),
		newPruneCommand(f),
		stateSub(f, "takeover", "Take over a journal from another machine, or one that was restored",
			`Takeover makes this machine the owner of a journal that another machine did not
close, or of one that is not what it was when it was last used here: a copy, a
restored backup, or one that lost its last writes. See to it that no other
process uses it, on any machine: two at once would send everything twice.

Nothing is lost or sent by it. From then on the journal's memory of the
destination is not relied on: the next run looks at everything it would send
there, and takes over what is there already. A journal that is in use on this
machine is not taken.
`, func(ctx context.Context, path string) error { return stateTakeover(ctx, f, path) }),
	)
	return c
}

// stateSub makes one of the commands below state, which all work on the path of
// the journal.
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
			f.Out.Notef("Journal      %s", ui.Sanitize(path))
			return do(ctx, path)
		}),
	}
}

func stateCheck(ctx context.Context, f *command.Factory, path string) error {
	problems, err := findDamage(ctx, f, path)
	switch {
	case err != nil && !errors.Is(err, disk.ErrDamaged):
		return err
	case err != nil && len(problems) == 0: // so much that SQLite does not say what
		problems = []string{err.Error()}
	}
	for n, p := range problems {
		if n < outcome.ShownProblems || f.Out.Verbose() {
			f.Out.Printf("! %s", ui.Sanitize(p))
		}
		f.Out.Event("check", event.Check{Result: "difference", Message: p})
	}
	if more := len(problems) - outcome.ShownProblems; more > 0 && !f.Out.Verbose() {
		f.Out.Printf("… and %s more, see --verbose", ui.Counted(int64(more), "problem"))
	}
	if len(problems) > 0 {
		f.Out.Notef("The journal is damaged: %s", ui.Counted(int64(len(problems)), "problem"))
		f.Out.Notef("Try: assetferry help state tells how to restore the backup, or take the journal over; the file was left as it is")
		return exit.Said(exit.CodeDifference)
	}
	f.Out.Printf("The journal is whole.")
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
	f.Out.Printf("The journal was %s and is %s.", ui.Bytes(before), ui.Bytes(after))
	return nil
}

func stateTakeover(ctx context.Context, f *command.Factory, path string) error {
	if err := f.SecureState(path); err != nil {
		return err
	}
	if err := state.Takeover(ctx, path); err != nil {
		return err
	}
	f.Out.Printf("The journal is ours now. The next run looks at the destination before it sends anything.")
	return nil
}
