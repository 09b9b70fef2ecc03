package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assetferry/internal/runstatus"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/ownership"
)

// shownRuns is how many runs of a source status shows.
const shownRuns = 3

func (a *app) statusCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show where the last runs stand, from the journal alone",
		Long: `Status reads the journal and nothing else: no request is sent, and it works
while another process is at work. "assetferry runs" shows all runs, and
"assetferry report" everything about one. Below the newest run is the command
that resumes it, tries again what did not arrive, or accepts what a guard
stopped.

With --watch it follows the newest run until that is over, and says when nothing
has finished for five minutes. It then exits with 3 if the run left anything
behind, or if nobody works on it any more. Interrupting it leaves the run alone.
`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if watch {
				return a.watchStatus(ctx)
			}
			return a.status(ctx)
		}),
	}
	c.Flags().BoolVar(&watch, "watch", false, "follow the newest run until it is over")
	return c
}

// readJournal opens the journal for reading, until the command is over. It asks nobody
// anything.
func (a *app) readJournal(ctx context.Context) (*state.Store, error) {
	path, err := a.statePath(ctx)
	if err != nil {
		return nil, err
	}
	if err := mustExist(path); err != nil {
		return nil, err
	}
	if err := a.noteRepaired(ownership.SecureRead(path)); err != nil {
		return nil, err
	}
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	a.closeLater(journal.Close)
	a.out.Notef("Journal      %s", ui.Sanitize(path))
	return journal, nil
}

func (a *app) status(ctx context.Context) error {
	journal, err := a.readJournal(ctx)
	if err != nil {
		return err
	}
	atWork, err := a.showHolder(ctx, journal)
	if err != nil {
		return err
	}
	return a.eachPair(ctx, journal, shownRuns, func(p state.Pair, runs []state.Run) error {
		if err := a.showPair(ctx, journal, p); err != nil {
			return err
		}
		if err := a.showSync(ctx, journal, p, runs); err != nil {
			return err
		}
		for n, r := range slices.Backward(runs) {
			if err := a.showRun(ctx, journal, r, atWork, n == 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPair passes on the pairs for which anything was ever done, each with its newest
// runs, newest first.
func (a *app) eachPair(ctx context.Context, journal *state.Store, limit int, show func(state.Pair, []state.Run) error) error {
	pairs, err := journal.Pairs(ctx)
	if err != nil {
		return err
	}
	shown := 0
	for _, p := range pairs {
		runs, err := journal.RunsOf(ctx, p.ID, limit)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			continue // it was named once, perhaps by mistake
		}
		if shown++; shown > 1 {
			a.out.Printf("\n")
		}
		if err := show(p, runs); err != nil {
			return err
		}
	}
	if shown == 0 {
		a.out.Printf("Nothing was planned yet.")
	}
	return nil
}

// showHolder tells who is at work, or was when it was killed, and reports whether
// somebody is.
func (a *app) showHolder(ctx context.Context, journal *state.Store) (atWork bool, err error) {
	h, err := journal.Holder(ctx)
	switch {
	case err != nil || !h.Open:
		return false, err
	case h.Alive:
		a.out.Notef("At work      %s", ui.Sanitize(h.Owner.String()))
	default:
		a.out.Notef("Not closed   %s ended without closing the journal, or runs on another machine", ui.Sanitize(h.Owner.String()))
	}
	return h.Alive, nil
}

func (a *app) showPair(ctx context.Context, journal *state.Store, p state.Pair) error {
	sum, err := journal.SumReceipts(ctx, p.ID)
	if err != nil {
		return err
	}
	proof, err := howVerified(ctx, journal, p)
	if err != nil {
		return err
	}
	a.out.Printf("%s -> %s (%s)\n  %s at the destination, %s; %s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination),
		ui.Sanitize(p.Address), count(sum.Objects, "asset"), ui.Bytes(sum.Bytes), proof)
	return nil
}

// howVerified says when the assets of a pair were verified, and how many were not yet.
func howVerified(ctx context.Context, journal *state.Store, p state.Pair) (string, error) {
	v, err := journal.LastVerification(ctx, p.ID)
	if errors.Is(err, state.ErrNotFound) {
		return "never verified", nil
	} else if err != nil {
		return "", err
	}
	sum, err := journal.SumVerified(ctx, p.ID)
	if err != nil {
		return "", err
	}
	which := "verified"
	switch left := sum.Unverified(); {
	case left > 0 && left == sum.Assets:
		which = "none verified since they arrived; last"
	case left > 0:
		which = ui.Count(sum.Assets-left) + " verified"
	}
	text := fmt.Sprintf("%s %s by %s: %s", which, v.At.Local().Format(time.DateTime), v.Level, differences(v))
	if sum.Contents > v.Contents {
		text += fmt.Sprintf("; %s by content, some of them earlier", ui.Count(sum.Contents))
	}
	if left := sum.Unverified(); left > 0 && left < sum.Assets {
		text += fmt.Sprintf("; %s not verified yet", ui.Count(left))
	}
	return text, nil
}

// isStopped reports whether a run was to go on and nobody works on it.
func isStopped(r state.Run, atWork bool) bool { return r.Open() && r.Command != "plan" && !atWork }

// standing says how a run stands: its state, or that it was stopped in it.
func standing(r state.Run, atWork bool) string {
	switch {
	case r.Stopped != "" && r.State != state.Finished:
		return "guarded"
	case isStopped(r, atWork):
		return "stopped"
	}
	return string(r.State)
}

// showRun tells of one run in a few lines, or as an event. Of the newest one it shows the
// command that helps.
func (a *app) showRun(ctx context.Context, journal *state.Store, r state.Run, atWork, newest bool) error {
	tallies, err := journal.Tallies(ctx, r.Num)
	if err != nil {
		return err
	}
	items := describe(tallies)
	skips, err := skippedText(ctx, journal, r, tallies)
	if err != nil {
		return err
	}
	if r.State == state.Scanning && r.Stopped == "" {
		items = "the source is not listed to its end"
	}
	if skips != "" {
		items += "\n" + wrapped("    "+skips, "      ")
	}
	took := ""
	if !r.FinishedAt.IsZero() {
		took = ", took " + ui.Duration(runstatus.Took(r))
	}
	if r.Command == "apply" || r.Approver.Name != "" { // of all other runs, reports and --json have it
		for _, by := range []string{approverText(r), startedText(r)} {
			if by != "" {
				items = by + "\n    " + items
			}
		}
	}
	back, err := journal.TakenBack(ctx, r.Num)
	if err != nil {
		return err
	}
	if back.Objects > 0 {
		items += "\n    Taken back since by undo: " + count(back.Objects, "asset")
	}
	if r.Stopped != "" {
		items = strings.TrimPrefix(items+"\n    "+ui.Sanitize(r.Stopped), "\n    ")
	}
	if newest && !atWork {
		next, err := a.afterNewest(ctx, journal, r, tallies)
		if err != nil {
			return err
		}
		if next.command != "" {
			items += "\n    " + next.why + "\n      " + next.command
		}
	}
	a.out.Printf("  %s  %s, %s, began %s%s\n    %s", r.ID, r.Command, standing(r, atWork), r.StartedAt.Local().Format(time.DateTime), took, items)
	a.out.Event("summary", recorded(r, tallies))
	return nil
}

// afterNewest says what helps with the newest run of a pair.
func (a *app) afterNewest(ctx context.Context, journal *state.Store, r state.Run, tallies []state.Tally) (nextStep, error) {
	if r.Undoes == 0 || !isStopped(r, false) {
		return a.afterRun(r, tallies), nil
	}
	command, err := a.toGoOn(ctx, journal, r)
	return nextStep{"Stopped. To resume:", command}, err
}

// recorded is the summary of a run that another process carries out or did.
func recorded(r state.Run, tallies []state.Tally) event.Summary {
	s := summaryOf(r, tallies, runstatus.Took(r), exitOf(tallies))
	s.Outcomes, s.Stopped = runstatus.Outcomes(tallies), r.Stopped
	s.RunState, s.Began = string(r.State), r.StartedAt.UTC().Format(time.RFC3339)
	if !r.FinishedAt.IsZero() {
		s.Finished = r.FinishedAt.UTC().Format(time.RFC3339)
	}
	return s
}

// statePath finds the journal without reaching out for anything.
func (a *app) statePath(ctx context.Context) (string, error) {
	if a.settings.State != "" {
		return filepath.Abs(a.settings.State)
	}
	dest, err := a.recordedDestination(ctx)
	if err != nil {
		return "", err
	}
	return a.journalPath(dest)
}

// recordedDestination is the destination as a state database knows it. It is asked nothing.
func (a *app) recordedDestination(ctx context.Context) (*destination, error) {
	d, err := a.settings.Destination()
	if err != nil {
		return nil, err
	}
	dest := &destination{}
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(a.lookup)
		if err != nil {
			return nil, err
		}
		if err := mustExist(filepath.Join(dir, "credentials.env")); err != nil {
			return nil, err
		}
		c, err := a.loadSandbox(dir)
		if err != nil {
			return nil, err
		}
		dest.environment = c.EnvironmentID
	} else {
		env, err := d.Environment.Resolve(ctx, nil)
		if err != nil {
			return nil, err
		}
		dest.environment = env.Reveal()
	}
	dest.workspace = cmp.Or(d.Workspace, dest.environment)
	return dest, nil
}

// mustExist makes a journal that is not there an exit code of its own.
func mustExist(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return with(exitNoSuch, fmt.Errorf("there is no journal %s yet", path), "assetferry migrate makes one; --state names another")
	} else if err != nil {
		return err
	}
	return nil
}

// showSync tells in a few lines what syncs leave to be looked after.
func (a *app) showSync(ctx context.Context, journal *state.Store, p state.Pair, runs []state.Run) error {
	lines, err := runstatus.SyncLines(ctx, journal, p, runs, func(last state.Run, tallies []state.Tally) ([]string, error) {
		return stepsAfter(ctx, journal, last, tallies)
	})
	for _, line := range lines {
		a.out.Printf("  %s", line)
	}
	return err
}
