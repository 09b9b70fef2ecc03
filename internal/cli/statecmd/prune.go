package statecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/ui"
	"assetferry/state"
)

func newPruneCommand(f *command.Factory) *cobra.Command {
	var olderThan string
	var dryRun bool
	c := stateSub(f, "prune", "Forget the items of runs that are long past",
		`Prune deletes from the journal what is told of single objects of runs that ended
longer ago than keep_runs says, or --older-than: their items, the attempts at
them, and what an undo of them would need. Plans that gave way to others go
altogether, and so do verifications but for the last one. The sums of runs stay,
and report and runs show them.

What the journal needs for its work always stays: what has arrived and where,
old and new addresses, what fails, what is gone from the source, the last
finished run of each source and command, and runs that are not finished or that
an undo refers to. A plan, urls and verify say the same before and after it.

A run does the same by itself whenever it finishes. The space is used again;
state compact gives it back to the disk.
`, func(ctx context.Context, path string) error { return statePrune(ctx, f, path, olderThan, dryRun) })
	flags := c.Flags()
	flags.StringVar(&olderThan, "older-than", "", "prune runs that ended longer ago than this `duration`, such as 400d (default: what keep_runs says)")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "say what would be deleted, and stop")
	return c
}

func statePrune(ctx context.Context, f *command.Factory, path, olderThan string, dryRun bool) error {
	age := f.Settings.KeepRuns
	if olderThan != "" {
		var err error
		if age, err = config.ParseDuration(olderThan); err != nil {
			return exit.Usage(fmt.Errorf("--older-than: %w", err), "")
		}
	} else if age == 0 {
		return exit.Usage(errors.New("keep_runs says that all runs are kept"), "--older-than 400d prunes those that ended longer ago than that")
	}
	before := clock.Now().Add(-age)
	if dryRun {
		return showPrunable(ctx, f, path, before)
	}
	store, err := f.OpenState(ctx, path)
	if err != nil {
		return err
	}
	pruned, err := store.Prune(ctx, before)
	if err != nil {
		return err
	}
	f.Out.Printf("Pruned what ended before %s: %s.", before.Local().Format(time.DateTime), prunedText(pruned))
	unused, err := store.Unused(ctx)
	if err == nil && !pruned.IsEmpty() {
		f.Out.Notef("%s of the journal are unused, and used again by later runs. To give them back to the disk: assetferry state compact", ui.Bytes(unused))
	}
	return err
}

func showPrunable(ctx context.Context, f *command.Factory, path string, before time.Time) error {
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	f.CloseLater(store.Close)
	p, err := store.Prunable(ctx, before)
	if err != nil {
		return err
	}
	f.Out.Printf("To be pruned, of what ended before %s: %s. Nothing was deleted.", before.Local().Format(time.DateTime), prunedText(p))
	return nil
}

func prunedText(p state.Pruned) string {
	if p.IsEmpty() {
		return "nothing"
	}
	return fmt.Sprintf("%s of %s, %s that gave way to others, %s", ui.Counted(p.Items, "item"), ui.Counted(p.Runs, "run"),
		ui.Counted(p.Plans, "plan"), ui.Counted(p.Verifications, "verification"))
}
