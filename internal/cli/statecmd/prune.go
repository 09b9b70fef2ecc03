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
	c := stateSub(f, "prune", "Delete the items of old runs",
		`Prune deletes the items of runs that ended before the period in keep_runs or
--older-than, with their attempts and the data that an undo needs. It also
deletes superseded plans, and all verifications except the last one. The counts
of runs remain, and report and runs show them.

Everything that later runs need remains: assets, old and new URLs, failures,
objects that were deleted at the source, the last finished run of each source
and command, unfinished runs, and runs that an undo refers to. Plans, urls and
verify give the same results as before.

Each finished run prunes automatically. The space is reused; to return it to the
disk, run assetferry state compact.
`, func(ctx context.Context, path string) error { return statePrune(ctx, f, path, olderThan, dryRun) })
	flags := c.Flags()
	flags.StringVar(&olderThan, "older-than", "", "prune runs that ended longer ago than this `duration`, such as 400d (default: keep_runs)")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "show what would be deleted, and delete nothing")
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
		return exit.Usage(errors.New("keep_runs is 0: all runs are kept"), "name a period, such as --older-than 400d")
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
	f.Out.Printf("Pruned runs that ended before %s: %s.", before.Local().Format(time.DateTime), prunedText(pruned))
	unused, err := store.Unused(ctx)
	if err == nil && !pruned.IsEmpty() {
		f.Out.Notef("%s of the state database are unused. Later runs reuse them; to return them to the disk: assetferry state compact", ui.Bytes(unused))
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
	f.Out.Printf("Would prune runs that ended before %s: %s. Nothing was deleted.", before.Local().Format(time.DateTime), prunedText(p))
	return nil
}

func prunedText(p state.Pruned) string {
	if p.IsEmpty() {
		return "nothing"
	}
	return fmt.Sprintf("%s of %s, %s superseded, %s", ui.Counted(p.Items, "item"), ui.Counted(p.Runs, "run"),
		ui.Counted(p.Plans, "plan"), ui.Counted(p.Verifications, "verification"))
}
