// Package migratecmd holds the commands that plan and carry out a migration, verify it, undo
// it, and export assets: flags become rules, and what the engine reports becomes text.
package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// MigrateOptions are the flags of the commands that plan and carry it out.
type MigrateOptions struct {
	command                         string // migrate, adopt or sync
	dryRun, restart, retryExhausted bool
	output                          string
	approved                        *approvedPlan  // by apply
	approver                        state.Approver // zero: none is known
	settle                          time.Duration
	sync                            SyncOptions
}

// NewMigrateCommand makes assetferry migrate.
func NewMigrateCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "migrate"}
	c := &cobra.Command{
		Use:   "migrate SOURCE",
		Short: "Plan and carry it out; run again to resume",
		Long: `Migrate brings every object of the source to the destination that is not there
yet. It makes a plan and carries out that very plan. If it is interrupted,
killed or stopped by an error, the same command goes on where it was: nothing
is sent twice. An object that changed after it arrived is skipped and counted.

The first interrupt finishes what has begun, the second aborts it.
`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return planOrMigrate(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	addApplyFlags(flags, &o)
	addOutputFlag(flags, &o.output)
	addSelectionFlags(flags)
	addCreateFlags(flags, &o.retryExhausted)
	addSendingFlags(flags, &o)
	return c
}

// NewAdoptCommand makes assetferry adopt.
func NewAdoptCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "adopt"}
	c := &cobra.Command{
		Use:   "adopt SOURCE",
		Short: "Take over what is at the destination already",
		Long: `Adopt looks for every object of the source at the destination, in the place
where migrate would put it, and notes in the journal what is there already: an
asset of the same name that is equal in content, or that says itself that it
came from here. Nothing is sent and nothing is changed at the destination. What
is not there is counted, and a later migrate brings it.

Use it after files were uploaded by other means. Where the journal is lost it is
not needed: migrate does the same before it sends anything.
`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return planOrMigrate(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	addApplyFlags(flags, &o)
	addOutputFlag(flags, &o.output)
	addSelectionFlags(flags)
	return c
}

// addApplyFlags adds what all commands take that plan and carry it out.
func addApplyFlags(f *pflag.FlagSet, o *MigrateOptions) {
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the plan and stop")
	f.BoolVar(&o.restart, "restart", false, "give up an unfinished run and plan anew; what arrived is kept")
	f.StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of requests at once (default %d)", migrate.DefaultConcurrency))
	command.AddLimitFlags(f)
	command.AddKeepRuns(f)
	addRunStatusFlags(f)
}

const retryExhaustedHelp = "try objects again that failed in many runs, or that may have arrived unseen"

// addCreateFlags adds what decides which assets a plan creates.
func addCreateFlags(f *pflag.FlagSet, retryExhausted *bool) {
	f.Int("limit", 0, "create at most this `number` of assets: a pilot")
	cmdline.Setting(f, "unsupported", "`policy` for extensions that no category allows")
	cmdline.Setting(f, "fallback-category", "with --unsupported create: category of this `name` for what no category allows; names without an extension get .bin")
	f.BoolVar(retryExhausted, "retry-exhausted", false, retryExhaustedHelp)
}

// addSendingFlags adds how assets are sent.
func addSendingFlags(f *pflag.FlagSet, o *MigrateOptions) {
	cmdline.Setting(f, "provenance", "`when` assets get an attribute that says where they come from: auto where they are described anyway")
	addDescribingFlags(f)
	cmdline.Setting(f, "wait", "stay for this `duration` where nothing works, and for items that are to be tried again within it")
	f.DurationVar(&o.settle, "confirm-timeout", 0, fmt.Sprintf("how long an upload may take to show up after its answer was lost; what takes longer is sent twice (default %v, and %v where the service gave none; twice the listing_delay of --service-profile is added)",
		apply.DefaultConfirmTimeout, migrate.DefaultResponseTimeout))
}

func planOrMigrate(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o MigrateOptions) error {
	if cmd.Flags().Changed("confirm-timeout") && o.settle <= 0 {
		return exit.Usage(errors.New("--confirm-timeout must be more than 0"), "what takes longer to show up than that is sent twice; leave it out if in doubt")
	}
	if err := cmdline.Together(cmd, "dry-run", "restart", "plan shows what a new run would do"); err != nil {
		return err
	}
	if o.dryRun {
		return runPlan(ctx, f, cmd, source, planOptions{adoptOnly: o.command == "adopt", retryExhausted: o.retryExhausted, output: o.output, approved: o.approved, sync: o.sync})
	}
	if o.output != "" {
		return exit.Usage(errors.New("--output needs --dry-run"), "add -n to write the plan into the file instead of carrying it out")
	}
	return migrateSource(ctx, f, cmd, source, o)
}

func migrateSource(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o MigrateOptions) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: o.command}
	if err := openPublisher(f, source, o.command); err != nil {
		return err
	}
	defer f.StartWindow()()
	s, err := openEndpoints(ctx, f, cmd, source, o.approved, o.sync, false)
	if err != nil {
		return err
	}
	if o.command == "adopt" {
		s.adoptOnly()
	}
	if err := syncRules(ctx, f, s, o.sync, o.restart); err != nil {
		return err
	}
	if err := s.sameRules(); err != nil {
		return err
	}
	introduce(f, s)
	publishStart(ctx, f, s)
	applier := applier(f, s, o)
	run, err := resumeOrBegin(ctx, f, s, applier, o)
	if err != nil {
		return err
	}
	if s.dest.Approver.Name != "" {
		o.approver = s.dest.Approver
	}
	if run, err = outcome.NoteApprover(ctx, f, s.store, run, o.approver); err != nil {
		return err
	}
	planner := planner(f, s, o.settle, o.retryExhausted)
	guard(f, planner, o.sync)
	planner.Describes = applier.Provenance == "always"
	plan, err := planner.Plan(ctx, run)
	f.Out.Progress().EndPhase()
	printOvertaken(f, plan)
	if err != nil {
		return err
	}
	showPlan(f, plan)
	printNothingMatches(f, plan, s.rules)
	if err := printNewCategory(ctx, f, s, plan); err != nil {
		return err
	}
	if err := refused(f, s, plan); err != nil {
		outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
		return err
	}
	if err := agreeToRepair(ctx, f, s, plan, o.sync); err != nil {
		return err
	}
	printDoubled(f, plan.DuplicateNames)
	if o.approved == nil { // else they were looked at before it was approved
		printLosses(f, s, plan.Tallies, source)
	}
	printUnconfirmed(f, plan.Tallies, applier)
	failure := carryOut(ctx, f, applier.Apply, plan.Run)
	return conclude(context.WithoutCancel(ctx), f, s, plan.Run.ID, began, failure)
}

// refused shows why a plan must not be carried out, and is nil for one that may be.
func refused(f *command.Factory, s *endpoints, plan migrate.Plan) error {
	if plan.Blocked(s.rules) {
		showUnsupported(f, plan)
		return unmatched(plan)
	}
	return showSafetyChecks(f, plan)
}

// carryOut has a plan carried out, which a first interrupt ends in good order, and gives
// the reason if it ended early.
func carryOut(ctx context.Context, f *command.Factory, apply func(context.Context, state.Run) error, run state.Run) error {
	f.Draining.Store(true)
	failure := apply(ctx, run)
	f.Draining.Store(false)
	f.Out.Progress().EndPhase()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failure == migrate.ErrStopped: // and nothing else went wrong
		return f.WhyStopped()
	}
	return failure
}

// applier makes what carries out the plan.
func applier(f *command.Factory, s *endpoints, o MigrateOptions) *apply.Applier {
	applier := apply.New(s.deps(f, f.Watch()), s.dest.Client)
	applier.Concurrency, applier.Stop, applier.Wait = f.Settings.Concurrency, f.Stop, f.Settings.Wait
	applier.Provenance, applier.FormerAlive = f.Settings.Provenance, s.store.FormerAlive()
	applier.ConfirmTimeout, applier.ResponseTimeout = settleTimes(o.settle, s.dest.Profile.ListingDelay)
	return applier
}

// settleTimes are how long an upload may take to show up after its answer was lost, and where
// there was none: as given, or else the usual ones and more where new assets are listed late,
// since what is not listed yet passes for lost. It may take longer than it was seen to.
func settleTimes(given, listingDelay time.Duration) (settle, answer time.Duration) {
	if given > 0 {
		return given, given
	}
	return apply.DefaultConfirmTimeout + 2*listingDelay, migrate.DefaultResponseTimeout + 2*listingDelay
}

// conclude tells what became of a run, from the journal alone.
func conclude(ctx context.Context, f *command.Factory, s *endpoints, id string, began time.Time, failure error) error {
	run, err := s.store.Run(ctx, id)
	if err != nil {
		return errors.Join(failure, err)
	}
	tallies, err := s.store.Tallies(ctx, run.Num)
	if err != nil {
		return errors.Join(failure, err)
	}
	wrong, err := printEnd(ctx, f, s, run, tallies, began)
	if err != nil {
		return errors.Join(failure, err)
	}
	if failure == nil && !run.Open() {
		f.Prune(ctx, s.store)
	}
	if failure == nil || failure == exit.ErrWindow { // else it is gone on with, or looked into, at once
		f.BackUp(ctx, s.store)
	}
	switch {
	case failure != nil:
		return failure
	case run.Stopped != "":
		return exit.With(exit.CodeSafetyCheck, errors.New(run.Stopped), "see that the source is whole; if it is meant, run it once with --accept-deletes and their number")
	case outcome.ExitOf(tallies) == exit.CodeDone && !wrong:
		return nil
	}
	steps, err := outcome.StepsAfter(ctx, s.store, run, tallies)
	if err != nil {
		return err
	}
	for _, step := range steps {
		f.Out.Notef("Try: %s", step)
	}
	return exit.Said(exit.CodeItems)
}

// printEnd shows what became of a run, and reports whether rows of the metadata table are wrong.
func printEnd(ctx context.Context, f *command.Factory, s *endpoints, run state.Run, tallies []state.Tally, began time.Time) (wrong bool, err error) {
	if err := showProblems(ctx, f, s, run.Num, state.ItemUnconfirmed, state.ItemFailed, state.ItemRetryScheduled, state.ItemChanged,
		state.ItemRetriesExhausted, state.ItemConflict); err != nil {
		return false, err
	}
	took := time.Since(began)
	outcome.SumUp(f, run, tallies, took)
	throttling := s.dest.Limiter.Throttling()
	f.Summary.Throttled, f.Summary.ThrottledSeconds = throttling.Refused, event.Seconds(throttling.Held)
	sent, names := "", ""
	if run.Undoes == 0 {
		if err := printFound(ctx, f, s, run); err != nil {
			return false, err
		}
		if wrong, err = printTable(ctx, f, s, run, !run.Open()); err != nil {
			return wrong, err
		}
		if names, err = countNames(ctx, f, s.store, run); err != nil {
			return wrong, err
		}
		sent = fmt.Sprintf("; %s sent", ui.Bytes(outcome.BytesSent(tallies)))
	}
	items := outcome.Describe(tallies)
	skips, err := outcome.SkippedText(ctx, s.store, run, tallies)
	if err != nil {
		return wrong, err
	}
	verb := "finished"
	if run.Open() {
		verb = "is not finished"
	}
	line := fmt.Sprintf("Run %s %s after %s: %s%s.", run.ID, verb, ui.Duration(time.Since(began)), items, sent)
	if f.Publisher != nil {
		f.Publisher.Line = line
	}
	hash := ""
	if run.Command == "apply" {
		hash = "Plan hash " + run.PlanHash
	}
	for _, line := range []string{line, outcome.Wrapped(skips, "  "), names, command.ThrottledText(throttling, took), hash, outcome.ApproverText(run)} {
		if line != "" {
			f.Out.Printf("%s", line)
		}
	}
	f.Out.Log().Info("end", "run", run.ID, "state", run.State, "items", items, "skipped", skips)
	return wrong, nil
}

// countNames counts the assets whose names differ from the source, by whichever runs, and says
// so with one of them; "" if there are none.
func countNames(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) (line string, err error) {
	for r, err := range migrate.RenamedAssets(ctx, store, run.Pair.ID) {
		if err != nil {
			return "", err
		}
		if f.Summary.Renamed++; f.Summary.Renamed == 1 {
			line = fmt.Sprintf("such as %q for %s. The report lists them.", r.Filename(), ui.Sanitize(string(r.Key)))
		}
	}
	switch f.Summary.Renamed {
	case 0:
		return "", nil
	case 1:
		return "1 name differs from the source, " + line, nil
	}
	return ui.Count(f.Summary.Renamed) + " names differ from the source, " + line, nil
}

// showProblems tells which items need a person, those of some states, the worst first,
// as far as they fit; JSON has them all.
func showProblems(ctx context.Context, f *command.Factory, s *endpoints, run int64, worstFirst ...state.ItemState) error {
	shown, more := 0, 0
	for _, worst := range worstFirst {
		for i, err := range s.store.Items(ctx, run, worst) {
			if err != nil {
				return err
			}
			if i.Attempts == 0 { // decided by the plan, so nobody has told it yet
				f.Out.Event("item", event.Item{Key: string(i.Key), PreviousKey: command.PreviousKey(i), Action: string(i.Action), State: string(i.State), Reason: i.Reason, Message: migrate.Reason(i.Reason).Text(), Error: i.Error})
			}
			if shown == outcome.ShownProblems && !f.Out.Verbose() {
				more++
				continue
			}
			shown++
			f.Out.Printf("%-9s %s: %s", strings.ReplaceAll(string(i.State), "_", " "), ui.Sanitize(string(i.Key)), ui.Sanitize(exit.OrHint(i.Error, migrate.Reason(i.Reason).Text())))
		}
	}
	if more > 0 {
		f.Out.Printf("… and %s more, see --verbose", ui.Count(int64(more)))
	}
	return nil
}

// resumeOrBegin gets the run to work with: the unfinished one, or a new one.
func resumeOrBegin(ctx context.Context, f *command.Factory, s *endpoints, applier *apply.Applier, o MigrateOptions) (state.Run, error) {
	now := clock.Now()
	run, decided, err := command.DecideRun(ctx, s.store, s.pair,
		migrate.RunSituation{Command: o.command, Rules: s.rules, PlanHash: o.approved.hash(), Restart: o.restart, Now: now})
	if err != nil {
		return run, err
	}
	switch decided.Step {
	case migrate.StepRefuse:
		return run, refuseRun(ctx, f, s.store, run, decided)
	case migrate.StepSupersede:
		if err := giveUp(ctx, f, s, applier, run, decided); err != nil {
			return run, err
		}
		return s.begin(ctx, o.command)
	case migrate.StepBegin:
		return s.begin(ctx, o.command)
	}
	age := ui.Duration(now.Sub(run.ListedAt))
	switch decided.Why {
	case migrate.WhyNews:
		f.Out.Notef("Going on with run %s. What changed since is looked at, too.", run.ID)
	case migrate.WhyStale:
		f.Out.Notef("Going on with run %s. Since it was planned the journal was taken over or another source was migrated, so the source is listed again and the destination looked at.", run.ID)
	case migrate.WhyOldListing:
		f.Out.Notef("Going on with run %s. Its listing is %s old, so the source is listed again.", run.ID, age)
	default:
		f.Out.Notef("Going on with run %s, listed %s ago.", run.ID, age)
	}
	switch decided.Step {
	case migrate.StepRelist:
		return relist(ctx, f, s, applier, run)
	case migrate.StepReplan:
		return decideAnew(ctx, f, s, run)
	}
	return run, nil
}

// refuseRun is the error of a command that has to leave the unfinished run alone.
func refuseRun(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, decided migrate.RunDecision) error {
	switch decided.Why {
	case migrate.WhyOtherPlan:
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished, and it is of another plan", run.ID), finishOrGiveUp(f, run))
	case migrate.WhyOtherRules:
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished, and its rules differ: %s", run.ID, strings.Join(decided.Differences, "; ")),
			fmt.Sprintf("go on with the rules it had (%s), or give it up with --restart; what arrived is kept either way", outcome.FinishIt(f, run)))
	}
	waits, err := inTheWay(ctx, f, store, run)
	if err != nil {
		return err
	}
	if run.Undoes != 0 {
		waits.Hint += "; --restart gives it up, and what it has taken back stays so"
	}
	return waits
}

// printUnconfirmed says what the end of the former process left open, and why that may
// keep a run from ending for a while. What is moved or trashed does not.
func printUnconfirmed(f *command.Factory, tallies []state.Tally, applier *apply.Applier) {
	var open int64
	for _, t := range tallies {
		if (t.State == state.ItemSending || t.State == state.ItemUnconfirmed) && t.Action != state.Move && t.Action != state.Trash {
			open += t.Objects
		}
	}
	if open > 0 {
		f.Out.Notef("Begun or about to be when it ended: %s. They are looked up; what has not shown up within %v of that is sent again.",
			ui.Counted(open, "upload"), max(applier.ConfirmTimeout, applier.ResponseTimeout))
	}
}

// decideAnew drops the plan of a run and keeps its listing: the run was stopped
// before anything was sent, and what stopped it may have been set right at the
// destination.
func decideAnew(ctx context.Context, f *command.Factory, s *endpoints, run state.Run) (state.Run, error) {
	if err := s.store.SetRunState(ctx, run.Num, state.Planned, state.Planning); err != nil {
		return run, err
	}
	return s.store.Run(ctx, run.ID)
}

// giveUp ends a run that is not finished, after finding out what became of its items.
func giveUp(ctx context.Context, f *command.Factory, s *endpoints, applier *apply.Applier, run state.Run, decided migrate.RunDecision) error {
	if run.Undoes != 0 {
		return giveUpUndo(ctx, f, s, run)
	}
	if run.State == state.Applying && decided.Why == migrate.WhyOtherRules {
		f.Out.Notef("Run %s is not finished, and its rules differ: %s.", run.ID, strings.Join(decided.Differences, "; "))
	}
	if err := confirmUploads(ctx, applier, run); err != nil {
		return err
	}
	if err := s.store.Supersede(ctx, run.Num); err != nil {
		return stillUnconfirmed(run, err)
	}
	f.Out.Notef("Run %s is given up; the assets it made are kept.", run.ID)
	return nil
}

func relist(ctx context.Context, f *command.Factory, s *endpoints, applier *apply.Applier, run state.Run) (state.Run, error) {
	if err := confirmUploads(ctx, applier, run); err != nil {
		return run, err
	}
	if err := s.store.Relist(ctx, run.Num); err != nil {
		return run, stillUnconfirmed(run, err)
	}
	return s.store.Run(ctx, run.ID)
}

func confirmUploads(ctx context.Context, applier *apply.Applier, run state.Run) error {
	if run.State != state.Applying {
		return nil
	}
	return applier.ConfirmUploads(ctx, run)
}

func stillUnconfirmed(run state.Run, err error) error {
	if !errors.Is(err, state.ErrConflict) {
		return err
	}
	return exit.With(exit.CodeItems, fmt.Errorf("run %s has items of which it cannot be found out whether they arrived", run.ID),
		"run the same command again when source and destination answer; assetferry status tells more")
}

// addSelectionFlags adds what decides which objects are taken and where they go.
func addSelectionFlags(f *pflag.FlagSet) {
	f.StringArray("include", nil, "take only objects that match this `glob` (repeatable)")
	f.StringArray("exclude", nil, "leave out objects that match this `glob` (repeatable)")
	f.String("files-from", "", "take only the keys in this `file`, one a line; - is stdin")
	cmdline.Setting(f, "min-age", "leave out objects that changed less than this `duration` ago")
	cmdline.Setting(f, "symlinks", "`policy` for symbolic links")
	cmdline.Setting(f, "category-by", "`what` categories are chosen by")
	cmdline.Setting(f, "category", "put everything into the category of this `name`")
	cmdline.Setting(f, "on-collision", "`policy` for names that differ only in case or Unicode form")
	cmdline.Setting(f, "on-existing", "`policy` where another asset has the name (equal content is taken over; adopt does so with equal size, duplicate sends or moves beside it)")
	cmdline.Setting(f, "duplicates", "`policy` for objects with the same content: an asset for each, or one asset for all that have the same category and extension")
	cmdline.Setting(f, "source-name", "`name` of the source in the journal (default: its absolute path or its address)")
	command.AddS3Flags(f)
	command.AddTableFlags(f)
}
