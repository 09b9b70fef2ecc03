package statecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
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
		`Prune deletes the details of runs that ended longer ago than keep_runs or
--older-than: items, failed attempts, and all data for their undo. It also
deletes abandoned plans, and all verifications except the last one. Totals of
runs stay in report and runs.

Prune keeps the records of assets, URLs, current failures, deletions at the
source, and unfinished runs. It also keeps the last finished run of each source
and command, and runs that an undo needs. Results of plan, urls and verify stay
the same.

Every run also prunes when it finishes. The database reuses the free space. To
return the space to the disk, use assetferry state compact.
`, func(ctx context.Context, path string) error { return statePrune(ctx, f, path, olderThan, dryRun) })
	flags := c.Flags()
	flags.StringVar(&olderThan, "older-than", "", "prune runs that ended longer ago than this `duration`, such as 400d (default: keep_runs)")
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "show what would be deleted and stop")
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
		return exit.Usage(errors.New("keep_runs keeps all runs"), "use --older-than 400d for runs that ended longer ago")
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
		f.Out.Notef("%s of the state database are unused, and later runs use them again. To return them to the disk:\n  %s", ui.Bytes(unused), cmdline.Line("state compact", cmdline.WithValue("state", path)))
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
	f.Out.Printf("Would be pruned, of runs that ended before %s: %s. Nothing was deleted.", before.Local().Format(time.DateTime), prunedText(p))
	return nil
}

func prunedText(p state.Pruned) string {
	if p.IsEmpty() {
		return "nothing"
	}
	return fmt.Sprintf("%s of %s, %s superseded, %s", ui.Counted(p.Items, "item"), ui.Counted(p.Runs, "run"),
		ui.Counted(p.Plans, "plan"), ui.Counted(p.Verifications, "verification"))
}
