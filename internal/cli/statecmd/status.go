// Package statecmd contains the commands that read the state database or maintain it: status, runs,
// report, explain and state.
package statecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/state"
)

// shownRuns is the number of runs that status shows for each source.
const shownRuns = 3

// NewStatusCommand returns assetferry status.
func NewStatusCommand(f *command.Factory) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show recent runs and the next command",
		Long: `Status shows the last runs of each source and destination. Below the newest run
is the command that resumes it, retries failed objects, or overrides the safety
check that stopped it. For all runs, see assetferry runs. For the details of a
run, see assetferry report.

If the runs have waves, status also lists the waves, with the stage of each:
not planned, planned, running, stopped, incomplete, migrated, verified,
certified, or undone. It shows when each wave was planned, approved, migrated
and verified, when its redirects were checked (urls --check), and its last
certificate. Objects that changed after the freeze of a wave are counted. See
assetferry help cutover.

Status reads only the state database. It sends no request, and it works while
another process is running.

With --watch, status follows the newest run until it ends. It reports if nothing
has finished for five minutes. The exit code is 3 if some objects are not
finished, or if the process of the run ended early. Interrupting status does not
affect the run.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if watch {
				return watchStatus(ctx, f)
			}
			return status(ctx, f)
		}),
	}
	c.Flags().BoolVar(&watch, "watch", false, "follow the newest run until it ends")
	return c
}

func status(ctx context.Context, f *command.Factory) error {
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	atWork, err := showHolder(ctx, f, store)
	if err != nil {
		return err
	}
	return eachPair(ctx, f, store, shownRuns, func(p state.Pair, runs []state.Run) error {
		if err := showPair(ctx, f, store, p); err != nil {
			return err
		}
		if err := showSync(ctx, f, store, p, runs); err != nil {
			return err
		}
		if hasWaves := func(r state.Run) bool { return r.Pair.Wave != "" }; slices.ContainsFunc(runs, hasWaves) {
			if err := showWaves(ctx, f, store, p, runs[0], atWork); err != nil {
				return err
			}
		}
		for n, r := range slices.Backward(runs) {
			if err := showRun(ctx, f, store, r, atWork, n == 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPair calls a function for each source and destination with runs, newest run first.
func eachPair(ctx context.Context, f *command.Factory, store *state.Store, limit int, show func(state.Pair, []state.Run) error) error {
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return err
	}
	shown := 0
	for _, p := range pairs {
		runs, err := store.RunsOf(ctx, p.ID, limit)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			continue // named once, possibly by mistake
		}
		if shown++; shown > 1 {
			f.Out.Printf("\n")
		}
		if err := show(p, runs); err != nil {
			return err
		}
	}
	if shown == 0 {
		f.Out.Printf("No runs yet.")
	}
	return nil
}

// showHolder shows the process that has the state database open or was killed, and reports whether
// it is running.
func showHolder(ctx context.Context, f *command.Factory, store *state.Store) (atWork bool, err error) {
	h, err := store.Holder(ctx)
	switch {
	case err != nil || !h.Open:
		return false, err
	case h.Alive:
		f.Out.Notef("Running      %s", ui.Sanitize(h.Owner.String()))
	default:
		f.Out.Notef("Not closed   %s ended without closing the state database, or runs on another machine", ui.Sanitize(h.Owner.String()))
	}
	return h.Alive, nil
}

func showPair(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair) error {
	sum, err := store.SumReceipts(ctx, p.ID)
	if err != nil {
		return err
	}
	verified, err := howVerified(ctx, store, p)
	if err != nil {
		return err
	}
	f.Out.Printf("%s -> %s (%s)\n  %s at the destination, %s; %s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination),
		ui.Sanitize(p.URL), ui.Counted(sum.Objects, "asset"), ui.Bytes(sum.Bytes), verified)
	return nil
}

// howVerified says when the assets were verified last, and how many are not verified yet.
func howVerified(ctx context.Context, store *state.Store, p state.Pair) (string, error) {
	v, err := store.LastVerification(ctx, p.ID)
	if errors.Is(err, state.ErrNotFound) {
		return "never verified", nil
	} else if err != nil {
		return "", err
	}
	sum, err := store.SumVerified(ctx, p.ID)
	if err != nil {
		return "", err
	}
	which := "verified"
	switch left := sum.Unverified(); {
	case left > 0 && left == sum.Assets:
		which = "nothing verified since the last upload; last verification"
	case left > 0:
		which = ui.Count(sum.Assets-left) + " verified"
	}
	of := ""
	if v.Wave != "" {
		of = " (wave " + v.Wave + ")"
	}
	text := fmt.Sprintf("%s %s by %s%s: %s", which, v.At.Local().Format(time.DateTime), v.Level, of, outcome.Differences(v))
	if v.Wave != "" && sum.Differ > 0 {
		text += fmt.Sprintf("; %s now", ui.CountedAs(sum.Differ, "asset differs", "assets differ"))
	}
	if sum.Contents > v.Contents {
		text += fmt.Sprintf("; %s verified by checksum, some of them earlier", ui.Count(sum.Contents))
	}
	if left := sum.Unverified(); left > 0 && left < sum.Assets {
		text += fmt.Sprintf("; %s not verified yet", ui.Count(left))
	}
	return text, nil
}

// isStopped reports whether a run is unfinished and no process is working on it.
func isStopped(r state.Run, atWork bool) bool { return r.Open() && r.Command != "plan" && !atWork }

// standing returns the state of a run, or that it was stopped.
func standing(r state.Run, atWork bool) string {
	switch {
	case r.Stopped != "" && r.State != state.Finished:
		return "safety check"
	case isStopped(r, atWork):
		return "stopped"
	}
	return string(r.State)
}

// showRun shows a run in a few lines, or as an event. For the newest one it shows the command that
// helps.
func showRun(ctx context.Context, f *command.Factory, store *state.Store, r state.Run, atWork, newest bool) error {
	tallies, err := store.Tallies(ctx, r.Num)
	if err != nil {
		return err
	}
	items := outcome.Describe(tallies)
	skips, err := outcome.SkippedText(ctx, store, r, tallies)
	if err != nil {
		return err
	}
	if r.State == state.Scanning && r.Stopped == "" {
		items = "the source is not completely listed"
	}
	if skips != "" {
		items += "\n" + outcome.Wrapped("    "+skips, "      ")
	}
	took := ""
	if !r.FinishedAt.IsZero() {
		took = ", took " + ui.Duration(runstatus.Took(r))
	}
	items = accountable(r) + items
	back, err := store.SumUndone(ctx, r.Num)
	if err != nil {
		return err
	}
	if back.Objects > 0 {
		items += "\n    Undone since: " + ui.Counted(back.Objects, "asset")
	}
	if r.Stopped != "" {
		items = strings.TrimPrefix(items+"\n    "+ui.Sanitize(r.Stopped), "\n    ")
	}
	if newest && !atWork {
		next, err := afterNewest(ctx, f, store, r, tallies)
		if err != nil {
			return err
		}
		if next.Command != "" {
			items += "\n    " + next.Why + "\n      " + next.Command
		}
	}
	f.Out.Printf("  %s  %s, %s, started %s%s\n    %s", r.ID, commandOf(r), standing(r, atWork), r.StartedAt.Local().Format(time.DateTime), took, items)
	f.Out.Event("summary", recorded(r, tallies))
	return nil
}

// accountable names the account that started a run and its approver, if the run needed approval.
// For other runs, the report and --json have the account.
func accountable(r state.Run) (lines string) {
	if r.Command != "apply" && r.Approver.Name == "" {
		return ""
	}
	for _, by := range []string{outcome.StartedText(r), outcome.ApproverText(r)} {
		if by != "" {
			lines += by + "\n    "
		}
	}
	return lines
}

// afterNewest returns the next step after the newest run.
func afterNewest(ctx context.Context, f *command.Factory, store *state.Store, r state.Run, tallies []state.Tally) (outcome.NextStep, error) {
	if r.Undoes == 0 || !isStopped(r, false) {
		refused, err := outcome.CountRefused(ctx, store, r, tallies)
		return outcome.AfterRun(f, r, tallies, refused), err
	}
	command, err := outcome.ToGoOn(ctx, f, store, r)
	return outcome.NextStep{Why: "Stopped. To resume:", Command: command}, err
}

// recorded returns the summary of a run from the state database.
func recorded(r state.Run, tallies []state.Tally) event.Summary {
	s := outcome.SummaryOf(r, tallies, runstatus.Took(r), outcome.ExitOf(tallies))
	s.Outcomes, s.Stopped = runstatus.Outcomes(tallies), r.Stopped
	s.RunState, s.Began = string(r.State), r.StartedAt.UTC().Format(time.RFC3339)
	if !r.FinishedAt.IsZero() {
		s.Finished = r.FinishedAt.UTC().Format(time.RFC3339)
	}
	return s
}

// showSync shows what needs attention after syncs.
func showSync(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair, runs []state.Run) error {
	lines, err := runstatus.SyncLines(ctx, store, p, runs, func(last state.Run, tallies []state.Tally) ([]string, error) {
		return outcome.StepsAfter(ctx, store, last, tallies)
	})
	for _, line := range lines {
		f.Out.Printf("  %s", line)
	}
	return err
}
