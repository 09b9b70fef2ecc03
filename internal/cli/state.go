package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/disk"
)

// stateCommand looks after the journal.
func (a *app) stateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Look after the journal: check it, back it up, make it smaller",
		Long: `The journal remembers what was listed, planned, sent and confirmed. It looks
after itself; these commands are for the day when a disk or a machine did not.
assetferry help journal tells the whole story, with a drill for restoring it.
`,
	}
	c.AddCommand(
		a.stateSub("check", "Read all of the journal and say whether it is whole",
			`Check reads every page of the journal, compares it with its checksum, and its
parts with each other. It changes nothing. It works while another process is at
work, which has compared the checksums when it began. Damage that is found is
told line by line, and ends with exit code 4.
`, a.stateCheck),
		a.stateSub("backup", "Write a copy of the journal beside it",
			`Backup writes the journal to a file of the same name with .backup at its end. A
run does that by itself whenever it finishes. The copy takes the place of the
one before at once or not at all.
`, a.stateBackup),
		a.stateSub("compact", "Give back the space that the journal does not use",
			`Compact rewrites the journal so that it is as small as it can be. For a moment
that takes as much space again.
`, a.stateCompact),
		a.statePruneCommand(),
		a.stateSub("takeover", "Take over a journal from another machine, or one that was restored",
			`Takeover makes this machine the owner of a journal that another machine did not
close, or of one that is not what it was when it was last used here: a copy, a
restored backup, or one that lost its last writes. See to it that no other
process uses it, on any machine: two at once would send everything twice.

Nothing is lost or sent by it. From then on the journal's memory of the
destination is not relied on: the next run looks at everything it would send
there, and takes over what is there already. A journal that is in use on this
machine is not taken.
`, a.stateTakeover),
	)
	return c
}

// stateSub makes one of the commands below state, which all work on the path of
// the journal.
func (a *app) stateSub(name, short, long string, do func(context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			path, err := a.statePath(ctx)
			if err != nil {
				return err
			}
			if err := mustExist(path); err != nil {
				return err
			}
			a.out.Notef("Journal      %s", ui.Sanitize(path))
			return do(ctx, path)
		}),
	}
}

func (a *app) stateCheck(ctx context.Context, path string) error {
	problems, err := a.findDamage(ctx, path)
	switch {
	case err != nil && !errors.Is(err, disk.ErrDamaged):
		return err
	case err != nil && len(problems) == 0: // so much that SQLite does not say what
		problems = []string{err.Error()}
	}
	for n, p := range problems {
		if n < shownProblems || a.out.Verbose() {
			a.out.Printf("! %s", ui.Sanitize(p))
		}
		a.out.Event("check", event.Check{Result: "difference", Message: p})
	}
	if more := len(problems) - shownProblems; more > 0 && !a.out.Verbose() {
		a.out.Printf("… and %s more, see --verbose", count(int64(more), "problem"))
	}
	if len(problems) > 0 {
		a.out.Notef("The journal is damaged: %s", count(int64(len(problems)), "problem"))
		a.out.Notef("Try: assetferry help journal tells how to restore the backup, or take the journal over; the file was left as it is")
		return said(exitDifference)
	}
	a.out.Printf("The journal is whole.")
	return nil
}

func (a *app) findDamage(ctx context.Context, path string) ([]string, error) {
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	a.closeLater(journal.Close)
	return journal.Check(ctx)
}

func (a *app) stateBackup(ctx context.Context, path string) error {
	journal, err := a.openJournal(ctx, path)
	if err != nil {
		return err
	}
	backup, err := journal.Backup(ctx)
	if err != nil {
		return err
	}
	a.out.Printf("Backed up to %s", ui.Sanitize(backup))
	return nil
}

func (a *app) stateCompact(ctx context.Context, path string) error {
	journal, err := a.openJournal(ctx, path)
	if err != nil {
		return err
	}
	before, after, err := journal.Compact(ctx)
	if err != nil {
		return err
	}
	a.out.Printf("The journal was %s and is %s.", ui.Bytes(before), ui.Bytes(after))
	return nil
}

func (a *app) stateTakeover(ctx context.Context, path string) error {
	if err := a.secureState(path); err != nil {
		return err
	}
	if err := state.Takeover(ctx, path); err != nil {
		return err
	}
	a.out.Printf("The journal is ours now. The next run looks at the destination before it sends anything.")
	return nil
}

// backUp copies the journal after a run. A run that is done is done, whether that
// works or not; but it must not go unnoticed.
func (a *app) backUp(ctx context.Context, journal *state.Store) {
	_, err := journal.Backup(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	a.out.Notef("The journal could not be backed up: %v", err)
	if hint := hintOf(err); hint != "" {
		a.out.Notef("Try: %s", hint)
	}
}
