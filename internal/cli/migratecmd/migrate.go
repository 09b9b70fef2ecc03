// Package migratecmd has the commands that plan, run, verify and undo a migration, and export
// assets. It turns flags into rules, and results of the engine into text.
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
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// MigrateOptions are the flags of migrate, adopt, sync and apply.
type MigrateOptions struct {
	command                         string // migrate, adopt or sync
	dryRun, restart, retryExhausted bool
	output                          string
	approved                        *approvedPlan  // by apply
	approver                        state.Approver // zero for none
	confirmTimeout                  time.Duration
	sync                            SyncOptions
}

// NewMigrateCommand makes assetferry migrate.
func NewMigrateCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "migrate"}
	c := &cobra.Command{
		Use:   "migrate SOURCE",
		Short: "Copy a source to the destination",
		Long: `Migrate plans a run and carries it out. It uploads every object of the source
that is not at the destination yet, with its metadata.

After an interruption, a crash or an error, run the same command again. It
resumes where it stopped and uploads nothing twice. Objects that changed after
their upload are skipped and counted. Sync uploads those as well.

The first Ctrl-C finishes the uploads in progress. The second one aborts them.
`,
		Example: `  assetferry migrate ./photos --unsupported skip --dry-run
  assetferry migrate ./photos --unsupported skip --limit 20
  assetferry migrate ./photos --unsupported skip`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return planOrMigrate(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	addApplyFlags(flags, &o)
	addOutputFlag(flags, &o.output)
	addPresetFlag(flags)
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
		Short: "Match objects to existing assets",
		Long: `Adopt matches the objects of the source to assets that exist at the destination,
and records them in the state database. It uploads nothing and changes nothing
at the destination.

An asset matches if it is in the place and has the name that migrate would give
it. It must also have identical content, or a provenance attribute that names
this source. Adopt counts the objects without a match. A later migrate uploads
them.

Use adopt if other programs uploaded the files. If you lost the state database,
you do not need adopt: migrate matches existing assets before it uploads
anything.
`,
		Example: `  assetferry adopt ./photos --dry-run
  assetferry adopt ./photos`,
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

// addPresetFlag adds the named sets of settings.
func addPresetFlag(f *pflag.FlagSet) {
	cmdline.Setting(f, "preset", "use this set of settings; any other setting overrides it")
}

// addApplyFlags adds the flags that migrate, adopt, sync and apply share.
func addApplyFlags(f *pflag.FlagSet, o *MigrateOptions) {
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the plan and stop")
	f.BoolVar(&o.restart, "restart", false, "abandon the unfinished run and make a new plan; uploaded assets stay")
	f.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of requests at the same time (default %d)", migrate.DefaultConcurrency))
	command.AddLimitFlags(f)
	command.AddKeepRuns(f)
	addRunStatusFlags(f)
}

const retryExhaustedHelp = "retry objects that failed in five runs, or whose upload is still unconfirmed"

// addCreateFlags adds the flags for the assets that a plan creates.
func addCreateFlags(f *pflag.FlagSet, retryExhausted *bool) {
	f.Int("limit", 0, "create at most this `number` of assets, for a pilot")
	cmdline.Setting(f, "unsupported", "handling of file types that no category accepts")
	cmdline.Setting(f, "fallback-category", "`name` of the category for --unsupported create; files without an extension get .bin")
	f.BoolVar(retryExhausted, "retry-exhausted", false, retryExhaustedHelp)
}

// addSendingFlags adds the flags for uploads.
func addSendingFlags(f *pflag.FlagSet, o *MigrateOptions) {
	cmdline.Setting(f, "provenance", "add an attribute with the source of an asset; auto adds it only to assets with other metadata")
	addDescribingFlags(f)
	command.AddScanFlags(f)
	cmdline.Setting(f, "wait", "keep trying for this `duration` while all requests fail, and wait for due retries")
	f.DurationVar(&o.confirmTimeout, "confirm-timeout", 0, fmt.Sprintf("`duration` before an upload without a response is sent again (default %v, %v after a timeout; plus twice the listing_delay of --service-profile)",
		apply.DefaultConfirmTimeout, migrate.DefaultResponseTimeout))
}

func planOrMigrate(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o MigrateOptions) error {
	if cmd.Flags().Changed("confirm-timeout") && o.confirmTimeout <= 0 {
		return exit.Usage(errors.New("--confirm-timeout must be more than 0"), "omit it for the default: uploads that take longer are sent twice")
	}
	if err := cmdline.Together(cmd, "dry-run", "restart", "use plan to see what a new run would do"); err != nil {
		return err
	}
	if o.dryRun {
		return runPlan(ctx, f, cmd, source, planOptions{adoptOnly: o.command == "adopt", retryExhausted: o.retryExhausted, output: o.output, approved: o.approved, sync: o.sync})
	}
	if o.output != "" {
		return exit.Usage(errors.New("--output needs --dry-run"), "add --dry-run to write the plan into the file and stop")
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
	scanner, err := openScanner(ctx, f, s)
	if err != nil {
		return err
	}
	publishStart(ctx, f, s)
	watch := f.Watch()
	applier := newApplier(f, s, o, watch)
	if scanner != nil {
		applier.Scan = scanner
	}
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
	plan, err := planRun(ctx, f, s, applier, o, run)
	if err != nil {
		return err
	}
	if err := accepted(ctx, f, s, plan, source, o, began); err != nil {
		return err
	}
	watch.Resume(runstatus.Finished(plan.Tallies))
	printUnconfirmed(f, s, plan.Tallies, applier)
	failure := carryOut(ctx, f, applier.Apply, plan.Run)
	return conclude(context.WithoutCancel(ctx), f, s, plan.Run.ID, began, failure)
}

// planRun makes the plan of a run, and shows the parts that its result does not repeat.
func planRun(ctx context.Context, f *command.Factory, s *endpoints, applier *apply.Applier, o MigrateOptions, run state.Run) (migrate.Plan, error) {
	planner := newPlanner(f, s, o.confirmTimeout, o.retryExhausted)
	setSafetyChecks(f, planner, o.sync)
	planner.Describes = applier.Provenance == "always"
	plan, err := planner.Plan(ctx, run)
	f.Out.Progress().EndPhase()
	printOvertaken(f, plan)
	if err != nil {
		return plan, err
	}
	if f.Out.Verbose() {
		showTallies(f, plan.Tallies)
	}
	showPlanNotes(f, plan)
	if s.rules.BringsVersions() {
		if err := showVersions(ctx, f, s, plan); err != nil {
			return plan, err
		}
	}
	printHidden(f, plan)
	printNothingMatches(f, plan, s.rules)
	return plan, printNewCategory(ctx, f, s, plan)
}

// accepted returns the reason why a plan must not be carried out, and nil if it may.
func accepted(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, source string, o MigrateOptions, began time.Time) error {
	if err := refused(f, s, plan, source); err != nil {
		outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
		return err
	}
	if err := agreeToRepair(ctx, f, s, plan, o.sync); err != nil {
		return err
	}
	printDoubled(f, plan.DuplicateNames)
	return nil
}

// refused shows a plan that must not be carried out, with the reason; it is nil for all others.
func refused(f *command.Factory, s *endpoints, plan migrate.Plan, source string) error {
	blocked := plan.Blocked(s.rules)
	if (blocked || len(plan.FailedChecks) > 0) && !f.Out.Verbose() {
		f.Out.Printf("%s", planned(plan))
		showTallies(f, plan.Tallies)
	}
	if blocked {
		showUnsupported(f, plan)
		return unmatched(f, s, plan, source)
	}
	return showSafetyChecks(f, plan)
}

// carryOut carries a plan out. The first interrupt lets current uploads finish. It returns the
// reason if the run ended early.
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

// newApplier returns the applier for a run.
func newApplier(f *command.Factory, s *endpoints, o MigrateOptions, watch migrate.Observer) *apply.Applier {
	applier := apply.New(s.deps(f, watch), s.dest.Client)
	applier.Concurrency, applier.Stop, applier.Wait = f.Settings.Concurrency, f.Stop, f.Settings.Wait
	applier.Provenance, applier.FormerAlive = f.Settings.Provenance, s.store.FormerAlive()
	applier.ConfirmTimeout, applier.ResponseTimeout = confirmTimeouts(o.confirmTimeout, s.dest.Profile.ListingDelay)
	return applier
}

// confirmTimeouts returns the confirmation timeouts: after a lost answer, and after none at all.
// Without a given one, they are longer for services that list new assets late: an asset that is
// not listed yet looks lost.
func confirmTimeouts(given, listingDelay time.Duration) (confirm, response time.Duration) {
	if given > 0 {
		return given, given
	}
	return apply.DefaultConfirmTimeout + 2*listingDelay, migrate.DefaultResponseTimeout + 2*listingDelay
}

// conclude prints the result of a run, from the state alone, and returns the error that the
// command ends with.
func conclude(ctx context.Context, f *command.Factory, s *endpoints, id string, began time.Time, failure error) error {
	run, err := s.store.Run(ctx, id)
	if err != nil {
		return errors.Join(failure, err)
	}
	tallies, err := s.store.Tallies(ctx, run.Num)
	if err != nil {
		return errors.Join(failure, err)
	}
	invalid, err := printEnd(ctx, f, s, run, tallies, began)
	if err != nil {
		return errors.Join(failure, err)
	}
	if failure == nil && !run.Open() {
		f.Prune(ctx, s.store)
	}
	if failure == nil || failure == exit.ErrWindow { // else the run is resumed soon
		f.BackUp(ctx, s.store)
	}
	refused, err := outcome.CountRefused(ctx, s.store, run, tallies)
	if err != nil {
		return errors.Join(failure, err)
	}
	next := outcome.NextAfter(f, run, tallies, refused)
	switch {
	case failure != nil && run.Open():
		command, err := outcome.ToGoOn(ctx, f, s.store, run)
		return errors.Join(exit.Resumable(failure, command), err)
	case failure != nil:
		return failure
	case run.Stopped != "":
		return exit.With(exit.CodeSafetyCheck, errors.New(run.Stopped), next.Why+"\n  "+next.Command)
	case invalid:
		next = outcome.NextStep{Why: "Correct the invalid rows. Then:", Command: outcome.FinishIt(f, run)}
	}
	f.Out.Next(next.Why, next.Command)
	if outcome.ExitOf(tallies) == exit.CodeDone && !invalid {
		return nil
	}
	return exit.Said(exit.CodeItems)
}

// sumUpLog adds the end of the action log to the summary, if the run added an entry.
func sumUpLog(f *command.Factory, store *state.Store) {
	if head, added := store.Logged(); added {
		f.Summary.LogEntries, f.Summary.LogSHA256 = head.Entries, head.Checksum
	}
}

// printEnd prints the result of a run, its problems and its warnings. It reports whether rows of
// the metadata table are invalid.
func printEnd(ctx context.Context, f *command.Factory, s *endpoints, run state.Run, tallies []state.Tally, began time.Time) (invalid bool, err error) {
	took := time.Since(began)
	outcome.SumUp(f, run, tallies, took)
	if err := sumUpVersions(ctx, f, s, run); err != nil {
		return false, err
	}
	f.NoteMemory(ctx)
	throttling := s.dest.Limiter.Throttling()
	f.Summary.Throttled, f.Summary.ThrottledSeconds = throttling.Refused, event.Seconds(throttling.Held)
	sumUpLog(f, s.store)
	result := outcome.Result(run, tallies, took)
	f.Out.Printf("%s", result)
	if f.Publisher != nil {
		f.Publisher.Line = result
	}
	if err := showProblems(ctx, f, s, run.Num, state.ItemUnconfirmed, state.ItemFailed, state.ItemRetryScheduled, state.ItemChanged,
		state.ItemRetriesExhausted, state.ItemConflict); err != nil {
		return false, err
	}
	if run.Command == "apply" {
		f.Out.Printf("Plan hash %s", run.PlanHash)
	}
	if approver := outcome.ApproverText(run); approver != "" {
		f.Out.Printf("%s", approver)
	}
	warnings := &warnings{}
	if invalid, err = warnings.collect(ctx, f, s, run, tallies); err != nil {
		return invalid, err
	}
	if text := command.ThrottledText(throttling, took); text != "" {
		warnings.add(ui.Counted(throttling.Refused, "throttled request"), text)
	}
	warnings.print(f)
	f.Out.Log().Info("end", "run", run.ID, "state", run.State, "items", outcome.Describe(tallies))
	if run.Open() {
		return invalid, nil
	}
	remedies, err := outcome.RemediesAfter(ctx, s.store, run, tallies)
	for _, remedy := range remedies {
		f.Out.Notef("Try: %s", remedy)
	}
	return invalid, err
}

// showProblems lists the items of a run in some states, in that order: a few, or all with
// --verbose and --json.
func showProblems(ctx context.Context, f *command.Factory, s *endpoints, run int64, worstFirst ...state.ItemState) error {
	shown, more := 0, 0
	for _, worst := range worstFirst {
		for i, err := range s.store.Items(ctx, run, worst) {
			if err != nil {
				return err
			}
			if i.Attempts == 0 { // the plan decided it, so there was no event yet
				f.Out.Event("item", event.Item{Key: string(i.Key), PreviousKey: command.PreviousKey(i), Action: string(i.Action), State: string(i.State), Reason: i.Reason, Message: migrate.Reason(i.Reason).Text(), Error: i.Error})
			}
			if shown == outcome.ShownProblems && !f.Out.Verbose() {
				more++
				continue
			}
			shown++
			f.Out.Printf("%-9s %s: %s", outcome.StateWord(i), ui.Sanitize(string(i.Key)), ui.Sanitize(outcome.ProblemText(i)))
		}
	}
	if more > 0 {
		f.Out.Printf("… and %s more: --verbose", ui.Count(int64(more)))
	}
	return nil
}

// resumeOrBegin returns the unfinished run or a new one, and introduces it.
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
		return resumeOrBegin(ctx, f, s, applier, o) // the runs of other waves may be unfinished, too
	case migrate.StepBegin:
		return beginRun(ctx, f, s, o)
	}
	introduceRun(f, s, "Resuming run "+run.ID, run.Command)
	age := ui.Duration(now.Sub(run.ListedAt))
	switch decided.Why {
	case migrate.WhyNews:
		f.Out.Notef("The source is listed again: this run includes later changes.")
	case migrate.WhyStale:
		f.Out.Notef("The source and the destination are listed again: since the plan, another machine, another source or another wave has used the state database.")
	case migrate.WhyOldListing:
		f.Out.Notef("The source is listed again: its listing is %s old.", age)
	default:
		f.Out.Notef("The source was listed %s ago.", age)
	}
	switch decided.Step {
	case migrate.StepRelist:
		return relist(ctx, f, s, applier, run)
	case migrate.StepReplan:
		return dropPlan(ctx, f, s, run)
	}
	return run, nil
}

// beginRun begins a run and introduces it.
func beginRun(ctx context.Context, f *command.Factory, s *endpoints, o MigrateOptions) (state.Run, error) {
	run, err := s.begin(ctx, o.command)
	if err == nil {
		introduceRun(f, s, "Run "+run.ID, run.Command)
	}
	return run, err
}

// refuseRun returns the error of a command that must not touch the unfinished run.
func refuseRun(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, decided migrate.RunDecision) error {
	switch decided.Why {
	case migrate.WhyOtherPlan:
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished, and it belongs to another plan", run.ID), finishOrGiveUp(f, run))
	case migrate.WhyOtherRules:
		return exit.With(exit.CodeError, fmt.Errorf("run %s is not finished, and its rules differ: %s", run.ID, strings.Join(decided.Differences, "; ")),
			finishOrGiveUp(f, run))
	}
	waits, err := inTheWay(ctx, f, store, run)
	if err != nil {
		return err
	}
	if run.Undoes != 0 {
		waits.Hint += "\nTo give it up, add --restart: assets that it undid stay undone."
	}
	return waits
}

// printUnconfirmed reports uploads whose results the former process did not see, and until when
// they are looked for. Moves and deletions need no such wait.
func printUnconfirmed(f *command.Factory, s *endpoints, tallies []state.Tally, applier *apply.Applier) {
	var open int64
	for _, t := range tallies {
		if (t.State == state.ItemSending || t.State == state.ItemUnconfirmed) && t.Action != state.Move && t.Action != state.Trash {
			open += t.Objects
		}
	}
	if open == 0 {
		return
	}
	now := clock.Now()
	until := migrate.FormerProcessEnd(s.store.FormerAlive()).Add(max(applier.ConfirmTimeout, applier.ResponseTimeout))
	when := "at once"
	if until.After(now) {
		when = "at " + ui.TimeAndWait(until, now)
	}
	f.Out.Notef("%s %s.", ui.CountedAs(open,
		"upload was in progress when the last process stopped. Checking whether it arrived; if not, it is sent again",
		"uploads were in progress when the last process stopped. Checking whether they arrived; missing ones are sent again"), when)
}

// dropPlan drops the plan of a run and keeps its listing: the run stopped before its first
// upload, and the cause may have been fixed at the destination.
func dropPlan(ctx context.Context, f *command.Factory, s *endpoints, run state.Run) (state.Run, error) {
	if err := s.store.SetRunState(ctx, run.Num, state.Planned, state.Planning); err != nil {
		return run, err
	}
	return s.store.Run(ctx, run.ID)
}

// giveUp ends an unfinished run, after it has confirmed its uploads.
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
	if run.State == state.Applying { // any other has uploaded nothing
		f.Out.Notef("Run %s is abandoned; its assets stay.", run.ID)
	}
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
	return exit.With(exit.CodeItems, fmt.Errorf("run %s has unconfirmed uploads that cannot be checked now", run.ID),
		"run the same command again when the source and the destination respond")
}

// addSelectionFlags adds the flags for the selection and the placement of objects.
func addSelectionFlags(f *pflag.FlagSet) {
	cmdline.Setting(f, "wave", "only the objects of the wave with this `name` (see assetferry help cutover)")
	f.StringArray("include", nil, "select only objects that match this `glob` (repeatable)")
	f.StringArray("exclude", nil, "skip objects that match this `glob` (repeatable)")
	f.String("files-from", "", "select only the keys in this `file`, one per line; - is stdin")
	cmdline.Setting(f, "min-age", "skip objects that changed less than this `duration` ago")
	cmdline.Setting(f, "versions", "bring the last `N` versions of each object, as revisions of its asset; 1 is only the current one")
	cmdline.Setting(f, "symlinks", "handling of symbolic links")
	cmdline.Setting(f, "category-by", "choose the category by file extension or by top-level folder")
	cmdline.Setting(f, "category", "put all assets into the category with this `name`")
	cmdline.Setting(f, "on-collision", "handling of names that differ only in case or Unicode form")
	cmdline.Setting(f, "on-existing", "handling of an asset with the same name and different content; adopt matches an asset of the same size")
	cmdline.Setting(f, "duplicates", "handling of identical content; one-asset creates one asset per category and extension")
	cmdline.Setting(f, "source-name", "`name` of the source in the state database (default: its path or URL)")
	command.AddS3Flags(f)
	command.AddTableFlags(f)
	command.AddWordPressFlags(f)
	command.AddRcloneFlags(f)
}
