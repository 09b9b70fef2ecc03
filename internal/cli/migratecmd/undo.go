package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/enrichcmd"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/undo"
	"assetferry/state"
	"assetferry/state/enrichment"
)

type undoOptions struct {
	run                         string
	apply, dryRun, content, yes bool

	// wave: all runs of the wave are undone. afterLater: the undo is shown, and comes after those of
	// later runs.
	wave, afterLater bool
}

// NewUndoCommand makes assetferry undo.
func NewUndoCommand(f *command.Factory) *cobra.Command {
	var o undoOptions
	c := &cobra.Command{
		Use:   "undo --run ID | --wave NAME",
		Short: "Undo a run",
		Long: `Undo reverts a run of migrate, sync, apply or enrich apply. It trashes the
assets that the run created. It restores the old content, place and metadata of
changed assets, and the assets that the run trashed. Adopted assets, categories
and folders stay.

Without --apply, undo only shows its plan and changes nothing.

An asset that another user changed after the run is a conflict and stays
unchanged. The same applies to an asset that a later run changed. Undo the later
run first. The service may process a new image for ten minutes and hide an edit
during that time. --content finds such an edit. If an asset existed before the
run, metadata that people added to it stays.

--wave undoes all runs of a wave, the newest first, and without --apply shows
all of them. Runs of other waves stay. If the destination requires approvals,
--apply undoes one run.

After an interruption, run the same command again. Until the undo is finished,
migrate and sync of the same source refuse to run. The service decides how long
its trash keeps assets. If the destination requires approvals, see assetferry
help security.
`,
		Example: `  assetferry undo --run 20260501-1200-abcde
  assetferry undo --run 20260501-1200-abcde --apply --yes`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if err := checkUndo(f, cmd, o); err != nil {
				return err
			}
			if o.run == "" {
				return undoWave(ctx, f, o)
			}
			return runUndo(ctx, f, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.run, "run", "", "`ID` of the run; assetferry runs lists the IDs")
	cmdline.Setting(flags, "wave", "undo all runs of the wave with this `name`")
	flags.BoolVar(&o.apply, "apply", false, "carry out the undo instead of showing its plan")
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "only show the plan, as without --apply")
	flags.BoolVar(&o.content, "content", false, "download each asset before it is trashed or replaced, and skip it if its content changed")
	flags.BoolVar(&o.yes, "yes", false, "skip the confirmation of --apply")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of requests at the same time (default %d)", migrate.DefaultConcurrency))
	cmdline.Setting(flags, "wait", "keep trying for this `duration` while all requests fail")
	command.AddLimitFlags(flags)
	command.AddApprovalFlags(flags)
	return c
}

// checkUndo finds errors in the flags before the first request.
func checkUndo(f *command.Factory, cmd *cobra.Command, o undoOptions) error {
	switch {
	case o.run == "" && f.Settings.Wave == "":
		return exit.Usage(errors.New("undo: --run is missing"), "list the runs:\n  "+f.Again("runs", nil))
	case o.run != "" && cmd.Flags().Changed("wave"):
		return exit.Usage(errors.New("--run and --wave cannot be used together"), "omit --wave to undo one run")
	case o.yes && !o.apply:
		return exit.Usage(errors.New("--yes needs --apply: without it, undo asks no question"), "add --apply, or omit --yes")
	case o.apply && !o.yes && !f.OnlyRequests() && !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("--apply needs confirmation, and there is no terminal"), "check the plan without --apply. In a script, add --yes")
	}
	return cmdline.Together(cmd, "dry-run", "apply", "without both, undo shows its plan")
}

func runUndo(ctx context.Context, f *command.Factory, o undoOptions) error {
	f.Summary = &event.Summary{Command: "undo"}
	defer f.StartWindow()()
	s, err := openUndo(ctx, f, o)
	if err != nil {
		return err
	}
	return undoIn(ctx, f, s, o)
}

// undoIn undoes a run in an open state database.
func undoIn(ctx context.Context, f *command.Factory, s *endpoints, o undoOptions) error {
	began := time.Now()
	if run, err := enrichment.In(s.store).Run(ctx, o.run); err == nil {
		return enrichcmd.UndoEnrichment(ctx, f, s.dest, s.store, run, o.apply, o.yes)
	} else if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	undone, err := findUndone(ctx, f, s, o)
	if err != nil {
		return err
	}
	undoer := newUndoer(f, s)
	run, err := beginUndo(ctx, f, s, undoer, undone, o.apply)
	if err != nil || run.Num == 0 {
		return err
	}
	if run, err = outcome.NoteApprover(ctx, f, s.store, run, s.dest.Approver); err != nil {
		return err
	}
	planner := undo.NewPlanner(s.deps(f, f.Watch()))
	planner.Content, planner.Concurrency = o.content, f.Settings.Concurrency
	plan, err := planner.Plan(ctx, run, undone)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	if !o.apply {
		return showUndo(ctx, f, s, plan, undone, began, o)
	}
	if f.Out.Verbose() {
		if err := showItems(ctx, f, s, plan); err != nil {
			return err
		}
	}
	outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
	if err := agreeToUndo(ctx, f, s, plan, o.yes); err != nil {
		return err
	}
	failure := carryOut(ctx, f, undoer.Apply, plan.Run)
	return conclude(context.WithoutCancel(ctx), f, s, plan.Run.ID, began, failure)
}

// introduceUndo shows which run is undone, and where.
func introduceUndo(f *command.Factory, s *endpoints, undone state.Run, head string) {
	logBegin(f, s)
	f.Out.Notef("%s run %s (%s, %s) at %s", head, undone.ID, undone.Command, undone.StartedAt.Local().Format(time.DateTime), ui.Sanitize(s.dest.Place()))
	if f.Out.Verbose() {
		f.Out.Notef("Source       %s", ui.Sanitize(s.pair.Source))
		f.Out.Notef("Destination  %s", ui.Sanitize(s.dest.String()))
		f.Out.Notef("State        %s", ui.Sanitize(s.store.Path()))
	}
}

// openUndo opens the destination and the state database of an undo. It makes no request.
func openUndo(ctx context.Context, f *command.Factory, o undoOptions) (s *endpoints, err error) {
	s = &endpoints{}
	if s.dest, err = f.OpenPermitted(ctx, !o.apply, undoSubject(o.run)); err != nil {
		return nil, err
	}
	path, err := f.StatePathOf(s.dest)
	if err != nil {
		return nil, err
	}
	if err := command.MustExist(path); err != nil {
		return nil, err
	}
	s.store, err = f.OpenState(ctx, path)
	return s, err
}

// findUndone returns the run to undo. It checks the run before the first request.
func findUndone(ctx context.Context, f *command.Factory, s *endpoints, o undoOptions) (state.Run, error) {
	undone, err := s.store.Run(ctx, o.run)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return undone, command.NoSuchRun(s.store, o.run)
	case err != nil:
		return undone, err
	case undone.Undoes != 0:
		first, err := s.store.UndoneRun(ctx, undone)
		if err != nil {
			return undone, err
		}
		return undone, exit.With(exit.CodeError, fmt.Errorf("run %s is an undo, and cannot be undone", undone.ID),
			"restore the assets from Trash, or upload the objects again:\n  "+outcome.CommandOf(f, first, nil))
	case undone.Pair.Destination != s.dest.Identity():
		return undone, command.OtherDestination(undone.ID, undone.Pair.Destination, s.dest)
	}
	s.pair = undone.Pair
	if _, err := f.Ping(ctx, s.dest); err != nil {
		return undone, err
	}
	f.StartMeter(ctx, s.dest, s.store)
	return undone, nil
}

func newUndoer(f *command.Factory, s *endpoints) *undo.Undoer {
	u := undo.New(s.deps(f, f.Watch()), s.dest.Client)
	u.Concurrency, u.Wait, u.Stop = f.Settings.Concurrency, f.Settings.Wait, f.Stop
	return u
}

// beginUndo begins or resumes an undo, and introduces it. The run is zero if there is nothing to
// undo.
func beginUndo(ctx context.Context, f *command.Factory, s *endpoints, undoer *undo.Undoer, undone state.Run, apply bool) (run state.Run, err error) {
	open, err := command.UnfinishedRun(ctx, s.store, s.pair)
	if err != nil {
		return run, err
	}
	undoable, err := s.store.IsUndoable(ctx, undone)
	if err != nil {
		return run, err
	}
	tallies, err := s.store.Tallies(ctx, undone.Num)
	if err != nil {
		return run, err
	}
	decided := migrate.DecideUndoRun(migrate.UndoRunSituation{Undone: undone, Unfinished: open, Undoable: undoable, Apply: apply,
		Unconfirmed: outcome.CountState(tallies, state.ItemSending, state.ItemSent, state.ItemUnconfirmed) > 0})
	switch decided.Step {
	case migrate.StepRelist:
		introduceUndo(f, s, undone, "Resuming run "+open.ID+": undo")
		return resumeUndo(ctx, s, undoer, open)
	case migrate.StepNothing:
		return run, printNothingToUndo(ctx, f, s.store, undone)
	}
	if decided.Why != "" {
		waits, err := undoWaits(ctx, f, s.store, undone, open, decided.Why)
		if err != nil {
			return run, err
		}
		if decided.Step == migrate.StepRefuse {
			return run, waits
		}
		f.Out.Notef("%s. The undo must wait for it.", capitalized(waits.Error()))
	}
	if !apply {
		introduceUndo(f, s, undone, "Plan: undo")
		return s.store.PlanUndo(ctx, undone)
	}
	if run, err = s.store.BeginUndo(ctx, undone); err != nil {
		return run, err
	}
	introduceUndo(f, s, undone, "Run "+run.ID+": undo")
	if decided.Step == migrate.StepSupersede {
		f.Out.Notef("Run %s was not finished and is abandoned.", undone.ID)
	}
	return run, nil
}

// undoWaits returns the reason why a run must be finished before an undo.
func undoWaits(ctx context.Context, f *command.Factory, store *state.Store, undone, open state.Run, why migrate.RunReason) (*exit.Error, error) {
	if why == migrate.WhyUnconfirmed {
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished and has unconfirmed uploads", undone.ID),
			"finish the run, then undo it:\n  "+outcome.FinishIt(f, undone)+"\nTo abandon the run, add --restart."), nil
	}
	return inTheWay(ctx, f, store, open)
}

// resumeUndo prepares an interrupted undo to be planned again, since its remaining assets may have
// changed.
func resumeUndo(ctx context.Context, s *endpoints, undoer *undo.Undoer, open state.Run) (state.Run, error) {
	if err := undoer.Resolve(ctx, open); err != nil {
		return open, err
	}
	if err := s.store.Relist(ctx, open.Num); err != nil {
		return open, err
	}
	return s.store.Run(ctx, open.ID)
}

// printNothingToUndo prints why there is nothing to undo.
func printNothingToUndo(ctx context.Context, f *command.Factory, store *state.Store, undone state.Run) error {
	back, err := store.SumUndone(ctx, undone.Num)
	if err != nil {
		return err
	}
	f.Summary.Run, f.Summary.Source, f.Summary.Destination = undone.ID, undone.Pair.Source, undone.Pair.Destination
	did := "created"
	if changed, err := changedSome(ctx, store, undone); err != nil {
		return err
	} else if changed {
		did = "changed"
	}
	if back.Objects > 0 {
		f.Out.Printf("Nothing to undo: run %s is undone already (%s).", undone.ID, ui.Counted(back.Objects, "asset"))
	} else {
		f.Out.Printf("Nothing to undo: run %s %s no asset.", undone.ID, did)
	}
	return nil
}

// changedSome reports whether a run did more than create assets: every sync, and runs that moved
// an asset.
func changedSome(ctx context.Context, store *state.Store, run state.Run) (bool, error) {
	if sync, err := runstatus.IsSync(run); sync || err != nil {
		return sync, err
	}
	tallies, err := store.Tallies(ctx, run.Num)
	return slices.ContainsFunc(tallies, func(t state.Tally) bool { return t.Action == state.Move && t.State == state.ItemDone }), err
}

// inTheWay returns the error for a run that must be finished first.
func inTheWay(ctx context.Context, f *command.Factory, store *state.Store, open state.Run) (*exit.Error, error) {
	if open.Undoes == 0 {
		return exit.With(exit.CodeError, fmt.Errorf("run %s of %s is not finished", open.ID, open.Command), finishOrGiveUp(f, open)), nil
	}
	undone, err := store.UndoneRun(ctx, open)
	if err != nil {
		return nil, err
	}
	return exit.With(exit.CodeError, fmt.Errorf("run %s, an undo of run %s, is not finished", open.ID, undone.ID), finishUndo(f, undone)), nil
}

func finishOrGiveUp(f *command.Factory, run state.Run) string {
	return "finish it:\n  " + outcome.FinishIt(f, run) + "\nTo give it up, add --restart: its assets stay."
}

func finishUndo(f *command.Factory, undone state.Run) string {
	return "finish it:\n  " + outcome.ApplyUndo(f, undone)
}

// giveUpUndo ends an unfinished undo.
func giveUpUndo(ctx context.Context, f *command.Factory, s *endpoints, undo state.Run) error {
	if err := newUndoer(f, s).Resolve(ctx, undo); err != nil {
		return err
	}
	if err := s.store.Supersede(ctx, undo.Num); err != nil {
		return err
	}
	f.Out.Notef("Undo %s is abandoned; assets that it undid stay undone.", undo.ID)
	return nil
}

// showUndo shows the plan of an undo, and the command that carries it out.
func showUndo(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, undone state.Run, began time.Time, o undoOptions) error {
	if err := showItems(ctx, f, s, plan); err != nil {
		return err
	}
	tallies := plan.Tallies
	if o.afterLater {
		tallies = slices.DeleteFunc(slices.Clone(tallies), waitsForLater)
	}
	f.Out.Printf("%s", wouldText(tallies))
	showTallies(f, tallies)
	if n := outcome.CountState(plan.Tallies, state.ItemConflict) - outcome.CountState(tallies, state.ItemConflict); n > 0 {
		f.Out.Notef("%s by later runs of the wave, which are undone first.", ui.CountedAs(n, "more asset was changed", "more assets were changed"))
	}
	f.Out.Notef("Adopted assets, categories and folders stay.")
	outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
	if hasWork(tallies) && !o.wave {
		f.Out.Next("Undo the run:", outcome.ApplyUndo(f, undone))
	}
	if code := outcome.ExitOf(tallies); code != exit.CodeDone {
		return exit.Said(code)
	}
	return nil
}

// waitsForLater selects conflicts that the undo of later runs resolves.
func waitsForLater(t state.Tally) bool {
	reason := migrate.Reason(t.Reason)
	return t.State == state.ItemConflict && (reason == migrate.ReasonChangedByLaterRun || reason == migrate.ReasonSharedByLaterRun)
}

// undoSteps lists the steps of an undo in words, in their order, with the assets that are
// trashed and all assets.
func undoSteps(tallies []state.Tally) (steps []string, trashes, all, bytes int64) {
	for _, kind := range []struct {
		action state.Action
		words  string
	}{
		{state.Trash, "trash %s"}, {state.Move, "move %s back"}, {state.Create, "restore %s"},
		{state.Replace, "restore the content of %s"}, {state.UpdateMetadata, "restore the metadata of %s"},
	} {
		var n int64
		for _, t := range tallies {
			if t.Action == kind.action && t.State == state.ItemPlanned {
				n, bytes = n+t.Objects, bytes+t.Bytes
			}
		}
		if n > 0 {
			steps = append(steps, fmt.Sprintf(kind.words, ui.Counted(n, "asset")))
		}
		if all += n; kind.action == state.Trash {
			trashes = n
		}
	}
	return steps, trashes, all, bytes
}

// wouldText returns the result of the plan of an undo in one sentence.
func wouldText(tallies []state.Tally) string {
	steps, trashes, all, bytes := undoSteps(tallies)
	rest := ""
	if n := outcome.CountState(tallies, state.ItemConflict); n > 0 {
		rest += ", " + ui.Count(n) + " in conflict"
	}
	if n := outcome.CountState(tallies, state.ItemSkipped); n > 0 {
		rest += ", " + ui.Count(n) + " skipped"
	}
	switch {
	case all == 0:
		return "Nothing would change" + strings.Replace(rest, ",", ":", 1) + "."
	case trashes == all:
		return fmt.Sprintf("%s would be trashed (%s)%s.", ui.Counted(all, "asset"), ui.Bytes(bytes), rest)
	}
	return fmt.Sprintf("This undo would %s%s.", strings.Join(steps, ", "), rest)
}

// agreeToUndo asks for confirmation. Without it, the undo is given up.
func agreeToUndo(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, yes bool) error {
	steps, trashes, all, _ := undoSteps(plan.Tallies)
	if yes || all == 0 {
		return nil
	}
	at := ui.Sanitize(s.dest.String())
	question := fmt.Sprintf("Trash %s at %s?\nThe service keeps them in Trash for a limited time.", ui.Counted(all, "asset"), at)
	if trashes < all {
		question = fmt.Sprintf("%s at %s?\nThe service keeps replaced content in the revisions, and trashed assets in Trash, for a limited time.",
			capitalized(strings.Join(steps, ", ")), at)
	}
	begin, err := f.Confirm(ctx, question)
	if begin || err != nil {
		return err
	}
	if err := s.store.Supersede(ctx, plan.Run.Num); err != nil {
		return err
	}
	nothing := "trashed"
	if trashes < all {
		nothing = "changed"
	}
	return exit.With(exit.CodeError, fmt.Errorf("not confirmed: nothing was %s", nothing), "answer y, or use --yes")
}
