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
}

// NewUndoCommand makes assetferry undo.
func NewUndoCommand(f *command.Factory) *cobra.Command {
	var o undoOptions
	c := &cobra.Command{
		Use:   "undo --run ID",
		Short: "Take back what a run did; shows by default, --apply acts",
		Long: `Undo takes back what a run did, so that everything is as it was before. What the
run created goes to the trash of the service, and is forgotten, so that it comes
again. What a sync replaced gets its former content back, which the service
keeps as a revision; what it or a migrate moved goes back under its former name;
what it described says what it said before; and what it trashed is restored, as
long as the service has it in its trash. What a run of enrich apply wrote is
taken back in the same way. It never touches what the run adopted, and
categories and folders stay. Without --apply it shows what it would do and sends
nothing but GET and HEAD requests, and one POST for the cookie if it has to read
a file of a private category.

An asset that somebody has changed since it was sent stays as it is and is a
conflict: one with another name, place or size, with a description, tags or
custom attributes that are not from here, or changed later by the service's own
account. An edit of an image that keeps all of these can hide for ten minutes
after it was sent, while the service may be processing it; --content finds it.
What another source of the journal has taken over stays, too, if the run created
it. Of an asset that was there before the run, what people have written since
stays, and is named; it is no conflict. What a later run has changed again, or
has other objects share, is one: undo the later run first.

Where the destination requires approvals, --apply needs the approval of the undo
of this run: assetferry help security.

If it is interrupted or killed, the same command goes on. Until then migrate and
sync wait for it. Whether and for how long the trash can give assets back is up
to the service; what somebody takes out of it is adopted by the next migrate.
`,
		Example: `  assetferry undo --run 20260501-1200-abcde
  assetferry undo --run 20260501-1200-abcde --apply --yes`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if err := checkUndo(f, cmd, o); err != nil {
				return err
			}
			return runUndo(ctx, f, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.run, "run", "", "the `ID` of the run, as status shows it")
	flags.BoolVar(&o.apply, "apply", false, "take it back; without it that is only shown")
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show only, as without --apply")
	flags.BoolVar(&o.content, "content", false, "read back every asset whose content is to go, and leave alone what is not as it was sent")
	flags.BoolVar(&o.yes, "yes", false, "take it back without asking")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of requests at once (default %d)", migrate.DefaultConcurrency))
	cmdline.Setting(flags, "wait", "stay for this `duration` where nothing works")
	command.AddLimitFlags(flags)
	command.AddApprovalFlags(flags)
	return c
}

// checkUndo finds the mistakes that can be told before anybody is asked for anything.
func checkUndo(f *command.Factory, cmd *cobra.Command, o undoOptions) error {
	switch {
	case o.run == "":
		return exit.Usage(errors.New("undo: --run is missing: which run is to be taken back?"), "assetferry runs lists the runs")
	case o.yes && !o.apply:
		return exit.Usage(errors.New("--yes is for --apply: without it nothing is asked"), "add --apply, or leave --yes out")
	case o.apply && !o.yes && !f.OnlyRequests() && !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("--apply asks before it changes anything, and nobody is here to answer"), "look at the plan without --apply, then add --yes")
	}
	return cmdline.Together(cmd, "dry-run", "apply", "without either the plan is shown")
}

func runUndo(ctx context.Context, f *command.Factory, o undoOptions) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: "undo"}
	defer f.StartWindow()()
	s, err := openUndo(ctx, f, o)
	if err != nil {
		return err
	}
	if run, err := enrichment.In(s.store).Run(ctx, o.run); err == nil {
		return enrichcmd.UndoEnrichment(ctx, f, s.dest, s.store, run, o.apply, o.yes)
	} else if !errors.Is(err, state.ErrNotFound) {
		return err
	}
	undone, err := findUndone(ctx, f, s, o)
	if err != nil {
		return err
	}
	introduce(f, s)
	f.Out.Notef("Takes back   run %s of %s, begun %s", undone.ID, undone.Command, undone.StartedAt.Local().Format(time.DateTime))
	undoer := undoer(f, s)
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
	if err := showUndo(ctx, f, s, plan, undone); err != nil {
		return err
	}
	outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
	if !o.apply {
		f.Out.Printf("%s Nothing was changed; --apply does it.", wouldText(plan.Tallies))
		if code := outcome.ExitOf(plan.Tallies); code != exit.CodeDone {
			return exit.Said(code)
		}
		return nil
	}
	if err := agreeToUndo(ctx, f, s, plan, o.yes); err != nil {
		return err
	}
	failure := carryOut(ctx, f, undoer.Apply, plan.Run)
	return conclude(context.WithoutCancel(ctx), f, s, plan.Run.ID, began, failure)
}

// openUndo opens what an undo needs. It makes no request yet.
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

// findUndone finds the run to be undone: whether there is anything to undo is known before
// the first request.
func findUndone(ctx context.Context, f *command.Factory, s *endpoints, o undoOptions) (state.Run, error) {
	undone, err := s.store.Run(ctx, o.run)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return undone, command.NoSuchRun(s.store, o.run)
	case err != nil:
		return undone, err
	case undone.Undoes != 0:
		return undone, exit.With(exit.CodeError, fmt.Errorf("run %s is an undo itself", undone.ID),
			"assetferry migrate brings again what it took back; or restore it from the trash of the service while that has it")
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

func undoer(f *command.Factory, s *endpoints) *undo.Undoer {
	u := undo.New(s.deps(f, f.Watch()), s.dest.Client)
	u.Concurrency, u.Wait, u.Stop = f.Settings.Concurrency, f.Settings.Wait, f.Stop
	return u
}

// beginUndo begins an undo or goes on with one; the run that it gives is zero if there is
// nothing to do.
func beginUndo(ctx context.Context, f *command.Factory, s *endpoints, undoer *undo.Undoer, undone state.Run, apply bool) (run state.Run, err error) {
	open, err := command.UnfinishedRun(ctx, s.store, s.pair)
	if err != nil {
		return run, err
	}
	made, err := s.store.Undoable(ctx, undone)
	if err != nil {
		return run, err
	}
	tallies, err := s.store.Tallies(ctx, undone.Num)
	if err != nil {
		return run, err
	}
	decided := migrate.DecideUndoRun(migrate.UndoRunSituation{Undone: undone, Unfinished: open, Undoable: made.Objects, Apply: apply,
		Unconfirmed: outcome.CountState(tallies, state.ItemSending, state.ItemSent, state.ItemUnconfirmed) > 0})
	switch decided.Step {
	case migrate.StepRelist:
		return goOnUndoing(ctx, f, s, undoer, open)
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
		f.Out.Notef("%s: --apply has to wait for that.", waits.Error())
	}
	if !apply {
		return s.store.PlanUndo(ctx, undone)
	}
	if run, err = s.store.BeginUndo(ctx, undone); err == nil && decided.Step == migrate.StepSupersede {
		f.Out.Notef("Run %s was not finished and is given up.", undone.ID)
	}
	return run, err
}

// undoWaits is why a run has to be finished before another one can be undone, or itself.
func undoWaits(ctx context.Context, f *command.Factory, store *state.Store, undone, open state.Run, why migrate.RunReason) (*exit.Error, error) {
	if why == migrate.WhyUnconfirmed {
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished, and of some objects it is not known what became of them", undone.ID),
			fmt.Sprintf("finish it with %s, or give it up with --restart; then undo it", outcome.FinishIt(f, undone))), nil
	}
	return inTheWay(ctx, f, store, open)
}

// goOnUndoing prepares an undo that was interrupted to be planned again: what it has
// taken back stays, and the rest may have been changed meanwhile.
func goOnUndoing(ctx context.Context, f *command.Factory, s *endpoints, undoer *undo.Undoer, open state.Run) (state.Run, error) {
	f.Out.Notef("Going on with undo %s.", open.ID)
	if err := undoer.Resolve(ctx, open); err != nil {
		return open, err
	}
	if err := s.store.Relist(ctx, open.Num); err != nil {
		return open, err
	}
	return s.store.Run(ctx, open.ID)
}

// printNothingToUndo says why there is nothing to take back.
func printNothingToUndo(ctx context.Context, f *command.Factory, store *state.Store, undone state.Run) error {
	back, err := store.SumUndone(ctx, undone.Num)
	if err != nil {
		return err
	}
	f.Summary.Run, f.Summary.Source, f.Summary.Destination = undone.ID, undone.Pair.Source, undone.Pair.Destination
	did, nothing := "created", "created no asset"
	if changed, err := changedSome(ctx, store, undone); err != nil {
		return err
	} else if changed {
		did, nothing = "did", "changed no asset"
	}
	if back.Objects > 0 {
		f.Out.Printf("Nothing to undo: what run %s %s was taken back before (%s).", undone.ID, did, ui.Counted(back.Objects, "asset"))
	} else {
		f.Out.Printf("Nothing to undo: run %s %s.", undone.ID, nothing)
	}
	return nil
}

// changedSome reports whether a run was to do more than to create assets: each sync is, and
// one that moved an asset which held the name of an object.
func changedSome(ctx context.Context, store *state.Store, run state.Run) (bool, error) {
	if sync, err := runstatus.IsSync(run); sync || err != nil {
		return sync, err
	}
	tallies, err := store.Tallies(ctx, run.Num)
	return slices.ContainsFunc(tallies, func(t state.Tally) bool { return t.Action == state.Move && t.State == state.ItemDone }), err
}

// inTheWay is why a run has to be finished first.
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
	return fmt.Sprintf("finish it with %s, or give it up with --restart; what arrived is kept either way", outcome.FinishIt(f, run))
}

func finishUndo(f *command.Factory, undone state.Run) string {
	return outcome.ApplyUndo(f, undone) + " goes on with it"
}

// giveUpUndo ends an undo that is not finished.
func giveUpUndo(ctx context.Context, f *command.Factory, s *endpoints, undo state.Run) error {
	if err := undoer(f, s).Resolve(ctx, undo); err != nil {
		return err
	}
	if err := s.store.Supersede(ctx, undo.Num); err != nil {
		return err
	}
	f.Out.Notef("Undo %s is given up; what it has taken back stays so.", undo.ID)
	return nil
}

// printUndo says that an undo is not finished.
func printUndo(ctx context.Context, f *command.Factory, store *state.Store, undo state.Run) error {
	undone, err := store.UndoneRun(ctx, undo)
	if err == nil {
		f.Out.Printf("Run %s, an undo of run %s, is not finished.", undo.ID, undone.ID)
		f.Out.Notef("Try: %s", finishUndo(f, undone))
	}
	return err
}

// showUndo shows the plan of an undo.
func showUndo(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, undone state.Run) error {
	if err := showItems(ctx, f, s, plan); err != nil {
		return err
	}
	did := "created by run "
	if changed, err := changedSome(ctx, s.store, undone); err != nil {
		return err
	} else if changed {
		did = "done by run "
	}
	showTallies(f, plan.Tallies, did+undone.ID)
	f.Out.Notef("What the run adopted stays, and so do all categories and folders.")
	return nil
}

// taking lists what a plan of an undo does, in words and in the order in which it is done.
func taking(tallies []state.Tally) (parts []string, trashes, all, bytes int64) {
	for _, kind := range []struct {
		action state.Action
		words  string
	}{
		{state.Trash, "trash %s"}, {state.Move, "move %s back"}, {state.Create, "restore %s"},
		{state.Replace, "bring back the content of %s"}, {state.UpdateMetadata, "bring back what was said of %s"},
	} {
		var n int64
		for _, t := range tallies {
			if t.Action == kind.action && t.State == state.ItemPlanned {
				n, bytes = n+t.Objects, bytes+t.Bytes
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf(kind.words, ui.Count(n)))
		}
		if all += n; kind.action == state.Trash {
			trashes = n
		}
	}
	return parts, trashes, all, bytes
}

// wouldText says what an undo would do.
func wouldText(tallies []state.Tally) string {
	parts, trashes, all, bytes := taking(tallies)
	if trashes == all {
		return fmt.Sprintf("%s would be trashed, %s.", ui.Counted(all, "asset"), ui.Bytes(bytes))
	}
	return fmt.Sprintf("This would %s.", strings.Join(parts, ", "))
}

// agreeToUndo asks before anything is taken back. Whoever does not want it gives the undo up.
func agreeToUndo(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, yes bool) error {
	parts, trashes, all, _ := taking(plan.Tallies)
	if yes || all == 0 {
		return nil
	}
	at := ui.Sanitize(s.dest.String())
	question := fmt.Sprintf("Trash %s at %s?\nThey stay in its trash for as long as the service keeps them there.", ui.Counted(all, "asset"), at)
	if trashes < all {
		what := strings.Join(parts, ", ")
		question = fmt.Sprintf("%s, of %s at %s?\nContent that goes stays among the revisions of its asset, and what is trashed in the trash, for as long as the service keeps it there.",
			strings.ToUpper(what[:1])+what[1:], ui.Counted(all, "asset"), at)
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
	return exit.With(exit.CodeError, fmt.Errorf("nobody said yes, so nothing was %s", nothing), "answer y, or use --yes")
}
