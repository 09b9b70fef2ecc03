package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/verify"
	"assetferry/state"
)

// NewVerifyCommand makes assetferry verify.
func NewVerifyCommand(f *command.Factory) *cobra.Command {
	var content bool
	var sample int
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the destination with the journal",
		Long: `Verify lists the destination and checks that every asset that the journal has a
receipt of is there, with its name and size. With --content the content of each
is read back and compared by its SHA-256 digest with what was sent; with
--sample N that is done for N of them, chosen at random. An asset that is in no
list is asked for by its ID: a service need not list at once what it has got.

A further asset with the name and size of one of ours, in the same folder, is a
difference, too, unless it was there before ours. So it shows that another
journal was used for the destination: no run sees that one is at work.

Each asset stays verified until its content is replaced, or restored by an undo.
Moving it or writing its metadata does not change that. Assets that were read
back once count as verified by content, also after a verification that only
lists. status and report show how many assets are not verified yet.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			level := verify.LevelListing
			if err := cmdline.Together(cmd, "content", "sample", "--content reads everything already"); err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("sample") && sample < 1:
				return exit.Usage(errors.New("--sample must be at least 1"), "")
			case content:
				level = verify.LevelContent
			case sample > 0:
				level = verify.LevelSample
			}
			return runVerify(ctx, f, level, sample)
		}),
	}
	c.Flags().BoolVar(&content, "content", false, "read back the content of every asset")
	c.Flags().IntVar(&sample, "sample", 0, "read back the content of this `number` of assets")
	c.Flags().StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of downloads at once (default %d)", migrate.DefaultConcurrency))
	return c
}

func runVerify(ctx context.Context, f *command.Factory, level string, sample int) error {
	f.Summary = &event.Summary{Command: "verify"}
	dest, store, pairs, err := f.OpenRecorded(ctx)
	if err != nil {
		return err
	}
	v := verify.New(migrate.Deps{Dest: dest.Client, State: store, Log: f.Out.Log(), Now: dest.Now}, level, sample)
	v.Concurrency, v.Unlisted = f.Settings.Concurrency, verify.DefaultUnlisted+2*dest.Profile.ListingDelay
	verified, code := 0, exit.CodeDone
	for _, p := range pairs {
		run, err := store.LastApplied(ctx, p.ID)
		if errors.Is(err, state.ErrNotFound) {
			continue // only planned
		} else if err != nil {
			return err
		}
		if verified++; verified > 1 {
			f.Out.Event("summary", *f.Summary)
		}
		f.Out.Notef("Verifying %s at %s", ui.Sanitize(p.Source), ui.Sanitize(dest.String()))
		differs, err := verifyPair(ctx, f, v, p)
		if err != nil {
			return err
		}
		arrived, err := notArrived(ctx, f, store, run)
		if err != nil {
			return err
		}
		f.Summary.Exit = max(differs, arrived) // a difference is the graver news
		code = max(code, f.Summary.Exit)
	}
	switch {
	case verified == 0:
		return exit.With(exit.CodeNoSuch, errors.New("nothing has been sent yet, so there is nothing to verify"), "assetferry migrate sends it")
	case code != exit.CodeDone:
		return exit.Said(code)
	}
	return nil
}

// notArrived tells what the last run of a pair did not bring to the destination,
// and gives the exit code for that: there are no receipts of it that could differ.
func notArrived(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) (code int, err error) {
	tallies, err := store.Tallies(ctx, run.Num)
	if err != nil {
		return 0, err
	}
	items := outcome.Describe(tallies)
	switch {
	case run.Undoes != 0 && run.Open():
		return exit.CodeItems, printUndo(ctx, f, store, run)
	case run.Undoes != 0 && outcome.CountState(tallies, state.ItemDone) > 0: // what it left is verified as everything else
		return leftBehind(ctx, f, store, run, "is an undo", ", and what was undone")
	case run.Undoes != 0:
		return leftBehind(ctx, f, store, run, "is an undo", "")
	case run.Open():
		f.Out.Printf("Run %s is not finished: %s.", run.ID, items)
		f.Out.Notef("Try: go on with it: %s", outcome.FinishIt(f, run))
		return exit.CodeItems, nil
	case outcome.ExitOf(tallies) != exit.CodeDone:
		f.Out.Printf("Not everything has arrived in run %s: %s.", run.ID, items)
		f.Out.Notef("Try: %s tries again what failed, and tells what needs a decision", outcome.FinishIt(f, run))
		return exit.CodeItems, nil
	case run.State == state.Superseded:
		return leftBehind(ctx, f, store, run, "was given up", "")
	}
	return leftBehind(ctx, f, store, run, "had only a part of the source", "")
}

// leftBehind tells what runs before the last one did not bring, which it does not say itself.
func leftBehind(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, why, more string) (code int, err error) {
	behind, err := migrate.CountIncomplete(ctx, store, run.Pair.ID)
	if err != nil || behind == 0 {
		return exit.CodeDone, err
	}
	f.Out.Printf("Not everything has arrived: %s did not come through by the end of run %s, which %s.", ui.Counted(behind, "object"), run.ID, why)
	f.Out.Notef("Try: assetferry migrate without --include, --files-from and --limit takes them up again%s", more)
	return exit.CodeItems, nil
}

// verifyPair verifies one pair and gives the exit code for what it found.
func verifyPair(ctx context.Context, f *command.Factory, v *verify.Verifier, p state.Pair) (code int, err error) {
	began := time.Now()
	f.Summary = &event.Summary{Command: "verify", Source: p.Source, Destination: p.Destination}
	w := f.Watch()
	v.Watch = w
	result, err := v.Verify(ctx, p)
	f.Out.Progress().EndPhase()
	took := time.Since(began)
	f.Summary.Seconds = event.Seconds(took)
	if err != nil {
		return 0, err
	}
	w.SayHidden()
	f.Out.Printf("%s", verdict(result, took))
	f.Summary.Checks = &event.Checks{Checked: result.Receipts, VerifiedByContent: result.Contents, Differences: result.Differences, ExtraAssets: w.Further}
	if result.Differences == 0 {
		return exit.CodeDone, nil
	}
	if w.Further > 0 {
		f.Out.Printf("There are further assets of the same name, size and folder for %s: uploaded by another user, or by a run with another state database.", ui.Counted(w.Further, "asset"))
		f.Out.Notef("Try: assetferry runs --state FILE lists the runs of that state database; assetferry undo --state FILE --run ID shows what a run sent, and --apply trashes it. Use one for each destination")
	}
	if result.Differences > w.Further {
		f.Out.Notef("Try: another user changed it there; restore it from the trash or a former revision, and verify again")
	}
	return exit.CodeDifference, nil
}

func verdict(v state.Verification, took time.Duration) string {
	s := fmt.Sprintf("Verified %s by listing", ui.Counted(v.Receipts, "asset"))
	if v.Level != verify.LevelListing {
		s += fmt.Sprintf(", %s of them by content", ui.Count(v.Contents))
	}
	return s + fmt.Sprintf(": %s. It took %s.", outcome.Differences(v), ui.Duration(took))
}
