package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

func (a *app) verifyCommand() *cobra.Command {
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
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			level := migrate.LevelListing
			if err := together(cmd, "content", "sample", "--content reads everything already"); err != nil {
				return err
			}
			switch {
			case cmd.Flags().Changed("sample") && sample < 1:
				return usage(errors.New("--sample must be at least 1"), "")
			case content:
				level = migrate.LevelContent
			case sample > 0:
				level = migrate.LevelSample
			}
			return a.verify(ctx, level, sample)
		}),
	}
	c.Flags().BoolVar(&content, "content", false, "read back the content of every asset")
	c.Flags().IntVar(&sample, "sample", 0, "read back the content of this `number` of assets")
	c.Flags().StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of downloads at once (default %d)", migrate.DefaultConcurrency))
	return c
}

func (a *app) verify(ctx context.Context, level string, sample int) error {
	a.summary = &event.Summary{Command: "verify"}
	dest, journal, pairs, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	v := migrate.NewVerifier(migrate.Deps{Dest: dest.client, Journal: journal, Log: a.out.Log(), Now: dest.now}, level, sample)
	v.Concurrency, v.Unlisted = a.settings.Concurrency, migrate.DefaultUnlisted+2*dest.profile.ListingDelay
	verified, code := 0, exitDone
	for _, p := range pairs {
		run, err := journal.LastApplied(ctx, p.ID)
		if errors.Is(err, state.ErrNotFound) {
			continue // only planned
		} else if err != nil {
			return err
		}
		if verified++; verified > 1 {
			a.out.Event("summary", *a.summary)
		}
		a.out.Notef("Verifying %s at %s", ui.Sanitize(p.Source), ui.Sanitize(dest.String()))
		differs, err := a.verifyPair(ctx, v, p)
		if err != nil {
			return err
		}
		arrived, err := a.notArrived(ctx, journal, run)
		if err != nil {
			return err
		}
		a.summary.Exit = max(differs, arrived) // a difference is the graver news
		code = max(code, a.summary.Exit)
	}
	switch {
	case verified == 0:
		return with(exitNoSuch, errors.New("nothing has been sent yet, so there is nothing to verify"), "assetferry migrate sends it")
	case code != exitDone:
		return said(code)
	}
	return nil
}

// notArrived tells what the last run of a pair did not bring to the destination,
// and gives the exit code for that: there are no receipts of it that could differ.
func (a *app) notArrived(ctx context.Context, journal *state.Store, run state.Run) (code int, err error) {
	tallies, err := journal.Tallies(ctx, run.Num)
	if err != nil {
		return 0, err
	}
	items := describe(tallies)
	switch {
	case run.Undoes != 0 && run.Open():
		return exitItems, a.tellUndo(ctx, journal, run)
	case run.Undoes != 0: // what it left behind is verified as everything else
		return exitDone, nil
	case run.Open():
		a.out.Printf("Run %s is not finished: %s.", run.ID, items)
		a.out.Notef("Try: go on with it: %s", a.finishIt(run))
		return exitItems, nil
	case exitOf(tallies) != exitDone:
		a.out.Printf("Not everything has arrived in run %s: %s.", run.ID, items)
		a.out.Notef("Try: %s tries again what failed, and tells what needs a decision", a.finishIt(run))
		return exitItems, nil
	}
	behind, err := migrate.LeftBehind(ctx, journal, run.Pair.ID)
	if err != nil || behind == 0 {
		return exitDone, err
	}
	a.out.Printf("Not everything has arrived: %s did not come through before run %s, which had only a part of the source.", count(behind, "object"), run.ID)
	a.out.Notef("Try: assetferry migrate without --include, --files-from and --limit takes them up again")
	return exitItems, nil
}

// verifyPair verifies one pair and gives the exit code for what it found.
func (a *app) verifyPair(ctx context.Context, v *migrate.Verifier, p state.Pair) (code int, err error) {
	began := time.Now()
	a.summary = &event.Summary{Command: "verify", Source: p.Source, Destination: p.Destination}
	w := a.watch()
	v.Watch = w
	result, err := v.Verify(ctx, p)
	a.out.Progress().EndPhase()
	took := time.Since(began)
	a.summary.Seconds = event.Seconds(took)
	if err != nil {
		return 0, err
	}
	w.sayHidden()
	a.out.Printf("%s", verdict(result, took))
	a.summary.Checks = &event.Checks{Checked: result.Receipts, ReadBack: result.Contents, Differences: result.Differences, Further: w.further}
	if result.Differences == 0 {
		return exitDone, nil
	}
	if w.further > 0 {
		a.out.Printf("There are further assets of the same name, size and folder for %s: uploaded by another user, or by a run with another state database.", count(w.further, "asset"))
		a.out.Notef("Try: assetferry runs --state FILE lists the runs of that state database; assetferry undo --state FILE --run ID shows what a run sent, and --apply trashes it. Use one for each destination")
	}
	if result.Differences > w.further {
		a.out.Notef("Try: another user changed it there; restore it from the trash or a former revision, and verify again")
	}
	return exitDifference, nil
}

func verdict(v state.Verification, took time.Duration) string {
	s := fmt.Sprintf("Verified %s by listing", count(v.Receipts, "asset"))
	if v.Level != migrate.LevelListing {
		s += fmt.Sprintf(", %s of them by content", ui.Count(v.Contents))
	}
	return s + fmt.Sprintf(": %s. It took %s.", differences(v), ui.Duration(took))
}

func differences(v state.Verification) string {
	if v.Differences == 0 {
		return "no difference"
	}
	return count(v.Differences, "difference")
}

// openRecorded opens a destination for reading, and the journal of it, which there must
// be. It gives the pairs that the journal has of it, at least one.
func (a *app) openRecorded(ctx context.Context) (*destination, *state.Store, []state.Pair, error) {
	d, err := a.openDestination(ctx, true)
	if err != nil {
		return nil, nil, nil, err
	}
	path, err := a.greet(ctx, d)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := mustExist(path); err != nil {
		return nil, nil, nil, err
	}
	journal, err := a.openJournal(ctx, path)
	if err != nil {
		return nil, nil, nil, err
	}
	a.startMeter(ctx, d, journal)
	pairs, err := pairsOf(ctx, journal, d)
	return d, journal, pairs, err
}

// pairsOf lists the pairs of a journal whose destination this is.
func pairsOf(ctx context.Context, journal *state.Store, d *destination) ([]state.Pair, error) {
	all, err := journal.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	var pairs []state.Pair
	for _, p := range all {
		if p.Destination == d.identity() {
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return nil, with(exitNoSuch, fmt.Errorf("the journal %s knows nothing of %s", journal.Path(), d.identity()),
			"check --to, --workspace and --state; assetferry status shows what the journal holds")
	}
	return pairs, nil
}
