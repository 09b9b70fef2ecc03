package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	var content, revisions bool
	var sample int
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the destination with the state database",
		Long: `Verify checks that every uploaded asset is at the destination, with its name and
size. --content also downloads each asset and compares its checksum. --sample N
does the same for N random assets.

--revisions also compares the revisions of assets with those that runs with
--versions uploaded: their number, order and sizes, and with --content their
checksums. Each asset with revisions costs a request. A missing revision is a
difference. Further revisions are a note.

A second asset with the name and size of an uploaded one, in the same folder, is
also a difference. It means that another state database was used for this
destination. Assets that existed before the upload do not count.

An asset stays verified until its content changes. A move or new metadata does
not change that. status and report show how many assets are not verified.

With --wave, verify compares only the assets of a wave, and requests only the
folders that contain them. See assetferry help cutover.
`,
		Example: `  assetferry verify
  assetferry verify --sample 100
  assetferry verify --content
  assetferry verify --revisions`,
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
				level = verify.LevelChecksum
			case sample > 0:
				level = verify.LevelSample
			}
			return runVerify(ctx, f, level, sample, revisions)
		}),
	}
	c.Flags().BoolVar(&content, "content", false, "compare the checksum of every asset")
	c.Flags().BoolVar(&revisions, "revisions", false, "compare the revisions of assets that have older versions")
	c.Flags().IntVar(&sample, "sample", 0, "compare the checksums of this `number` of random assets")
	cmdline.Setting(c.Flags(), "wave", "compare only the assets of the wave with this `name`")
	c.Flags().StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of downloads at the same time (default %d)", migrate.DefaultConcurrency))
	return c
}

func runVerify(ctx context.Context, f *command.Factory, level string, sample int, revisions bool) error {
	f.Summary = &event.Summary{Command: "verify", Wave: f.Settings.Wave}
	dest, store, pairs, err := f.OpenRecorded(ctx)
	if err != nil {
		return err
	}
	v := verify.New(migrate.Deps{Dest: dest.Client, State: store, Log: f.Out.Log(), Now: dest.Now}, level, sample)
	v.Revisions = revisions
	v.Concurrency, v.Unlisted = f.Settings.Concurrency, verify.DefaultUnlisted+2*dest.Profile.ListingDelay
	if v.Wave, err = f.Wave(); err != nil {
		return err
	}
	verified, worst := 0, verdict{}
	for _, p := range pairs {
		if verifiable, err := isVerifiable(ctx, store, p, v.Wave); err != nil {
			return err
		} else if !verifiable {
			continue
		}
		if verified++; verified > 1 {
			f.Out.Event("summary", *f.Summary)
		}
		p.Wave = v.Wave.Label()
		f.Out.Notef("Verify %s%s at %s", ofWave(p), ui.Sanitize(p.Source), ui.Sanitize(dest.Place()))
		next, err := verifyPair(ctx, f, v, p)
		if err != nil {
			return err
		}
		missing, err := notArrived(ctx, f, store, p)
		if err != nil {
			return err
		}
		if next.code == exit.CodeDone {
			next = missing
		}
		f.Summary.Exit = next.code // a difference comes first
		if next.code > worst.code {
			worst = next
		}
	}
	switch {
	case verified == 0 && v.Wave != nil:
		return exit.With(exit.CodeNoSuch, fmt.Errorf("wave %s has no asset yet, so there is nothing to verify", v.Wave.Name), "upload something first:\n  "+f.Again("migrate", []string{"SOURCE"}))
	case verified == 0:
		return exit.With(exit.CodeNoSuch, errors.New("nothing was uploaded yet, so there is nothing to verify"), "upload something first:\n  "+f.Again("migrate", []string{"SOURCE"}))
	case worst.code == exit.CodeDone:
		f.Out.Next("Show the report:", f.Again("report", nil))
		return nil
	}
	f.Out.Next(worst.Why, worst.Command)
	return exit.Said(worst.code)
}

// isVerifiable reports whether a pair has more than plans and, with a wave, assets of it.
func isVerifiable(ctx context.Context, store *state.Store, p state.Pair, wave *migrate.Wave) (bool, error) {
	if _, err := store.LastApplied(ctx, p); errors.Is(err, state.ErrNotFound) {
		return false, nil
	} else if err != nil || wave == nil {
		return err == nil, err
	}
	for r, err := range store.Fingerprints(ctx, p.ID, "") {
		if err != nil || wave.HasKey(r.Key) {
			return err == nil, err
		}
	}
	return false, nil
}

// A verdict is the exit code for a part of a verification, and the step after it.
type verdict struct {
	code int
	outcome.NextStep
}

// notArrived reports the objects that the last run of a pair, or of its wave, did not upload: they
// have no receipts that could differ.
func notArrived(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair) (verdict, error) {
	run, err := store.LastApplied(ctx, p)
	if errors.Is(err, state.ErrNotFound) { // runs of the whole source uploaded the assets of the wave
		return verdict{}, nil
	} else if err != nil {
		return verdict{}, err
	}
	tallies, err := store.Tallies(ctx, run.Num)
	if err != nil {
		return verdict{}, err
	}
	switch {
	case run.Undoes != 0 && run.Open():
		undone, err := store.UndoneRun(ctx, run)
		f.Out.Printf("Run %s, an undo of run %s, is not finished.", run.ID, undone.ID)
		return verdict{exit.CodeItems, outcome.NextStep{Why: "Resume the undo:", Command: outcome.ApplyUndo(f, undone)}}, err
	case run.Undoes != 0 && outcome.CountState(tallies, state.ItemDone) > 0: // its receipts are verified like all others
		return reportMissing(ctx, f, store, run, "is an undo", "the other objects, and those that were undone")
	case run.Undoes != 0:
		return reportMissing(ctx, f, store, run, "is an undo", "the other objects")
	case run.Open():
		f.Out.Printf("Run %s is not finished: %s.", run.ID, outcome.Describe(tallies))
		return verdict{exit.CodeItems, outcome.NextStep{Why: "Resume the run:", Command: outcome.FinishIt(f, run)}}, nil
	case outcome.ExitOf(tallies) != exit.CodeDone:
		f.Out.Printf("Run %s is incomplete: %s.", run.ID, outcome.Describe(tallies))
		refused, err := outcome.CountRefused(ctx, store, run, tallies)
		return verdict{exit.CodeItems, outcome.AfterRun(f, run, tallies, refused)}, err
	case run.State == state.Superseded:
		return reportMissing(ctx, f, store, run, "was abandoned", "the other objects")
	}
	return reportMissing(ctx, f, store, run, "covered only part of the source", "the other objects")
}

// reportMissing reports objects that earlier runs did not upload, and the last run did not include.
func reportMissing(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, why, rest string) (verdict, error) {
	behind, err := migrate.CountIncomplete(ctx, store, run.Pair)
	if err != nil || behind == 0 {
		return verdict{}, err
	}
	f.Out.Printf("%s not at the destination after run %s, which %s.", ui.CountedAs(behind, "object is", "objects are"), run.ID, why)
	all := func(_ *string, r *migrate.Rules) { r.Include, r.FilesFrom, r.Limit = nil, nil, 0 }
	step := outcome.NextStep{Why: "Upload " + rest + ":", Command: outcome.CommandOf(f, run, all)}
	if run.Undoes != 0 {
		undone, err := store.UndoneRun(ctx, run)
		if err != nil {
			return verdict{}, err
		}
		step.Command = outcome.CommandOf(f, undone, all)
	}
	return verdict{exit.CodeItems, step}, nil
}

// verifyPair verifies one pair and prints the result.
func verifyPair(ctx context.Context, f *command.Factory, v *verify.Verifier, p state.Pair) (verdict, error) {
	began := time.Now()
	f.Summary = &event.Summary{Command: "verify", Source: p.Source, Destination: p.Destination, Wave: p.Wave}
	w := f.Watch()
	v.Watch = w
	result, err := v.Verify(ctx, p)
	f.Out.Progress().EndPhase()
	took := time.Since(began)
	f.Summary.Seconds = event.Seconds(took)
	if err != nil {
		return verdict{}, err
	}
	f.Out.Printf("%s", verified(result, took))
	if v.Revisions {
		f.Out.Printf("%s of assets compared.", ui.Counted(result.Revisions, "earlier revision"))
	}
	w.ShowFound()
	f.Summary.Checks = &event.Checks{Checked: result.Receipts, VerifiedByChecksum: result.Contents, Differences: result.Differences, ExtraAssets: w.Further, CheckedRevisions: result.Revisions}
	if result.Differences == 0 {
		return verdict{}, nil
	}
	var steps []string
	if w.Further > 0 {
		f.Out.Printf("%s the same name, size and folder as another asset: another user or another state database uploaded them.", ui.CountedAs(w.Further, "extra asset has", "extra assets have"))
		steps = append(steps, "Trash the extra assets. If a run with another state database uploaded them, undo that run with --state FILE; use one state database for each destination.")
	}
	if result.Differences > w.Further {
		steps = append(steps, "Restore assets that another user changed, from Trash or from their revisions.")
	}
	return verdict{exit.CodeDifference, outcome.NextStep{Why: strings.Join(steps, " ") + " Then verify again:", Command: f.Again("verify", nil)}}, nil
}

// verified returns the result of a verification in one sentence.
func verified(v state.Verification, took time.Duration) string {
	how := "by listing"
	switch {
	case v.Level != verify.LevelListing && v.Contents == v.Receipts:
		how = "by checksum"
	case v.Level != verify.LevelListing:
		how += fmt.Sprintf(", %s of them by checksum", ui.Count(v.Contents))
	}
	if v.Differences == 0 {
		return fmt.Sprintf("%s verified %s: no differences (%s).", ui.Counted(v.Receipts, "asset"), how, ui.Duration(took))
	}
	return fmt.Sprintf("%s found in %s verified %s (%s).", outcome.Differences(v), ui.Counted(v.Receipts, "asset"), how, ui.Duration(took))
}
