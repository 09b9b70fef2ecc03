package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/ui"
	"assetferry/state"
)

// addKeepRuns adds how long the items of runs are kept.
func addKeepRuns(f *pflag.FlagSet) {
	setting(f, "keep-runs", "keep the items of a run for this `duration` after it ended, and its sums for good; 0s keeps all")
}

func (a *app) statePruneCommand() *cobra.Command {
	var olderThan string
	var dryRun bool
	c := a.stateSub("prune", "Forget the items of runs that are long past",
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
`, func(ctx context.Context, path string) error { return a.statePrune(ctx, path, olderThan, dryRun) })
	f := c.Flags()
	f.StringVar(&olderThan, "older-than", "", "prune runs that ended longer ago than this `duration`, such as 400d (default: what keep_runs says)")
	f.BoolVarP(&dryRun, "dry-run", "n", false, "say what would be deleted, and stop")
	return c
}

func (a *app) statePrune(ctx context.Context, path, olderThan string, dryRun bool) error {
	age := a.settings.KeepRuns
	if olderThan != "" {
		var err error
		if age, err = config.ParseDuration(olderThan); err != nil {
			return usage(fmt.Errorf("--older-than: %w", err), "")
		}
	} else if age == 0 {
		return usage(errors.New("keep_runs says that all runs are kept"), "--older-than 400d prunes those that ended longer ago than that")
	}
	before := clock.Now().Add(-age)
	if dryRun {
		return a.showPrunable(ctx, path, before)
	}
	journal, err := a.openJournal(ctx, path)
	if err != nil {
		return err
	}
	pruned, err := journal.Prune(ctx, before)
	if err != nil {
		return err
	}
	a.out.Printf("Pruned what ended before %s: %s.", before.Local().Format(time.DateTime), prunedText(pruned))
	unused, err := journal.Unused(ctx)
	if err == nil && !pruned.IsEmpty() {
		a.out.Notef("%s of the journal are unused, and used again by later runs. To give them back to the disk: assetferry state compact", ui.Bytes(unused))
	}
	return err
}

func (a *app) showPrunable(ctx context.Context, path string, before time.Time) error {
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	a.closeLater(journal.Close)
	p, err := journal.Prunable(ctx, before)
	if err != nil {
		return err
	}
	a.out.Printf("To be pruned, of what ended before %s: %s. Nothing was deleted.", before.Local().Format(time.DateTime), prunedText(p))
	return nil
}

func prunedText(p state.Pruned) string {
	if p.IsEmpty() {
		return "nothing"
	}
	return fmt.Sprintf("%s of %s, %s that gave way to others, %s", count(p.Items, "item"), count(p.Runs, "run"),
		count(p.Plans, "plan"), count(p.Verifications, "verification"))
}

// prune forgets runs that are long past, after one has finished. That one is done whether
// this works or not; but it must not go unnoticed.
func (a *app) prune(ctx context.Context, journal *state.Store) {
	if a.settings.KeepRuns == 0 {
		return
	}
	pruned, err := journal.Prune(ctx, clock.Now().Add(-a.settings.KeepRuns))
	switch {
	case err == nil && !pruned.IsEmpty():
		a.out.Log().Info("pruned", "items", pruned.Items, "runs", pruned.Runs, "plans", pruned.Plans, "verifications", pruned.Verifications)
	case err != nil && !errors.Is(err, context.Canceled):
		a.out.Notef("The journal could not be pruned: %v", err)
	}
}
