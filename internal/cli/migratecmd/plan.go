package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/preflight"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// NewPlanCommand makes assetferry plan.
func NewPlanCommand(f *command.Factory) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan SOURCE",
		Short: "Show what migrate or sync would do",
		Long: `Plan lists the source, reads the destination, and shows what migrate would do,
or what sync would do with --sync. It writes only to the state database. It
sends no request that changes anything at the destination.

Below the totals, plan lists problems: objects that would not be uploaded, files
that would be public, and files that could run scripts in a browser. Each line
names the flag that changes the result, or the person who can change it. --probe
also reads the first bytes of each file. It finds damaged images, wrong
extensions and identical content. --verbose and --json list every object.

--output writes the plan to a file for approval by its hash. To carry out only
that plan:

    assetferry apply FILE --hash HEX

A plan with conflicts or unreadable objects ends with exit code 3, as its run
would.
`,
		Example: `  assetferry plan ./photos --unsupported skip
  assetferry plan ./photos --unsupported skip --probe --verbose
  assetferry plan ./photos --unsupported skip --sync --preset careful`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			if cmd.Flags().Changed("explain-mapping") {
				return explainMapping(ctx, f, cmd, source, o.explain)
			}
			return runPlan(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	addOutputFlag(flags, &o.output)
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with 5 if the plan has changes and no conflicts")
	flags.StringVar(&o.explain, "explain-mapping", "", "show only how the mapping rules treat the object with this `key`")
	flags.BoolVar(&o.probe, "probe", false, "also read the first bytes of each file to upload, and list its problems")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of requests and reads at the same time (default %d)", migrate.DefaultConcurrency))
	addPresetFlag(flags)
	addSelectionFlags(flags)
	addCreateFlags(flags, &o.retryExhausted)
	addDescribingFlags(flags)
	command.AddScanFlags(flags)
	command.AddLimitFlags(flags)
	flags.BoolVar(&o.sync.on, "sync", false, "plan a sync instead of a migration")
	addSyncFlags(flags, &o.sync)
	return c
}

type planOptions struct {
	exitCode, adoptOnly, retryExhausted bool
	probe                               bool
	explain                             string // key of the object to explain the mapping of
	output                              string // file for the plan
	sync                                SyncOptions
	approved                            *approvedPlan
}

func runPlan(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o planOptions) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: "plan"}
	defer f.StartWindow()()
	if o.sync.on && o.output != "" {
		return exit.Usage(errors.New("--output supports only plans of migrate"), "sync plans and executes in one run; to see its plan, use sync --dry-run, and add --json or --verbose for every object")
	}
	if err := prepareOutput(f, o.output); err != nil {
		return err
	}
	s, err := openEndpoints(ctx, f, cmd, source, o.approved, o.sync, true)
	if err != nil {
		return err
	}
	if o.adoptOnly {
		s.adoptOnly()
	}
	if err := syncRules(ctx, f, s, o.sync, false); err != nil {
		return err
	}
	if err := introducePlan(ctx, f, s); err != nil {
		return err
	}
	run, err := s.begin(ctx, "plan")
	if err != nil {
		return err
	}
	planner := newPlanner(f, s, 0, o.retryExhausted)
	setSafetyChecks(f, planner, o.sync)
	if f.Out.Verbose() {
		planner.Unchanged = func(r state.Receipt) { showUnchanged(f, r) }
		planner.Unassigned = func(o sources.Object) { showUnassigned(f, o) }
	}
	found := gatherFindings(ctx, f, s, planner, o.probe)
	plan, err := planner.Plan(ctx, run)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	if err := showWhole(ctx, f, s, plan, found); err != nil {
		return err
	}
	outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
	f.NoteMemory(ctx)
	if err := showRest(ctx, f, s, plan); err != nil {
		return err
	}
	items, err := printEstimate(ctx, f, s, plan, printListing(ctx, f, s))
	if err != nil {
		return err
	}
	printHash(f, plan, o.approved)
	if err := writePlan(ctx, f, s, planner, plan, o.output); err != nil {
		return err
	}
	if o.output == "" {
		printNextOfPlan(f, s, plan, source, items)
	}
	return endOfPlan(f, s, plan, o, source)
}

// showRest adds older versions to the summary, and shows rows of tables without an object, collections, and changes since the approval.
func showRest(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	if err := sumUpVersions(ctx, f, s, plan.Run); err != nil {
		return err
	}
	table := &warnings{}
	if _, err := table.addTables(ctx, f, s, plan.Run, false); err != nil {
		return err
	}
	table.printDetails(f)
	if err := showDrift(ctx, f, s, plan); err != nil {
		return err
	}
	f.Out.Printf("\n") // the estimate and the hash follow
	return nil
}

// pilot is the number of objects in a pilot. Smaller plans need none.
const pilot = 500

// printNextOfPlan prints the command that carries out a plan, or a part of it first.
func printNextOfPlan(f *command.Factory, s *endpoints, plan migrate.Plan, source string, items int64) {
	arguments := f.SourceArgument(source)
	switch {
	case plan.Blocked(s.rules) || len(plan.FailedChecks) > 0 || plan.Run.Stopped != "" || s.approved != nil || !hasWork(plan.Tallies):
	case s.dest.Guarded && !keepsInStep(plan.Run):
		f.Out.Next("Write the plan into a file for approval:", f.Again("plan", arguments, "--output", "plan.jsonl"))
	case items > pilot && s.rules.Limit == 0 && s.rules.Sync == nil && !s.rules.AdoptOnly && f.Summary.PlanEstimate != nil && f.Summary.PlanEstimate.Low == nil:
		f.Out.Next("Start with a pilot, which also measures the rate:", f.Again(s.command(), arguments, "--limit", strconv.Itoa(pilot)))
	default:
		f.Out.Next("Carry out the plan:", f.Again(s.command(), arguments))
	}
}

// showWhole shows a plan: its objects with --verbose, its result, and the findings about it.
func showWhole(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, found *planFindings) error {
	if err := showItems(ctx, f, s, plan); err != nil {
		return err
	}
	findings, err := found.of(ctx, plan)
	if err != nil {
		return err
	}
	f.Out.Printf("%s", planned(plan))
	showTallies(f, slices.DeleteFunc(slices.Clone(plan.Tallies), func(t state.Tally) bool { return preflight.Covers(t.Reason) }))
	showPlanNotes(f, plan)
	if err := showVersions(ctx, f, s, plan); err != nil {
		return err
	}
	printNothingMatches(f, plan, s.rules)
	if err := printNewCategory(ctx, f, s, plan); err != nil {
		return err
	}
	showFindings(f, findings)
	return nil
}

// noteUnfinished reports a changed wave, and an unfinished run, which its command would resume first.
func noteUnfinished(ctx context.Context, f *command.Factory, s *endpoints) error {
	if err := introduceWave(ctx, f, s); err != nil {
		return err
	}
	open, decided, err := command.DecideRun(ctx, s.store, s.pair, migrate.RunSituation{Command: "plan"})
	if err == nil && decided.Why == migrate.WhyOtherRun {
		f.Out.Notef("Run %s is not finished: %s would resume it first. This plan covers the rest.", open.ID, open.Command)
	}
	return err
}

func printHash(f *command.Factory, plan migrate.Plan, approved *approvedPlan) {
	if approved == nil || approved.bound {
		f.Out.Printf("Plan hash %s", plan.Run.PlanHash)
	} else {
		f.Summary.PlanHash = "" // see bindToHash
	}
}

// endOfPlan returns the error of a plan that is blocked, has problems, or has changes if
// --exit-code asks for these.
func endOfPlan(f *command.Factory, s *endpoints, plan migrate.Plan, o planOptions, source string) error {
	switch {
	case plan.Blocked(s.rules):
		again := f.SourceArgument(source)
		flags := []string{"--unsupported", "skip"}
		if keepsInStep(plan.Run) {
			flags = append(flags, "--sync")
		}
		return exit.With(exit.CodeSafetyCheck, errors.New("unsupported file types block the plan"), "skip these objects:\n  "+f.Again("plan", again, flags...))
	case len(plan.FailedChecks) > 0 || plan.Run.Stopped != "":
		return showSafetyChecks(f, plan)
	case outcome.ExitOf(plan.Tallies) != exit.CodeDone: // as the run that carries it out would
		return exit.Said(exit.CodeItems)
	case o.exitCode && hasChanges(plan.Tallies):
		return exit.Said(exit.CodeChanges)
	}
	return nil
}

// introducePlan shows what a plan is for, and checks the scanner.
func introducePlan(ctx context.Context, f *command.Factory, s *endpoints) error {
	introduce(f, s)
	if err := checkScanner(ctx, f, s); err != nil {
		return err
	}
	return noteUnfinished(ctx, f, s)
}

// introduce shows the source, the destination and the state database of a plan.
func introduce(f *command.Factory, s *endpoints) {
	logBegin(f, s)
	f.Out.Notef("Source       %s", ui.Sanitize(s.pair.Source))
	f.Out.Notef("Destination  %s", ui.Sanitize(s.dest.String()))
	f.Out.Notef("State        %s", ui.Sanitize(s.store.Path()))
	introduceTables(f, s.tables, true)
	s.approved.introduce(f)
}

// introduceRun shows in one line which run uploads what: a scheduled run that changes nothing
// prints only this line and its result.
func introduceRun(f *command.Factory, s *endpoints, run, command string) {
	logBegin(f, s)
	f.Out.Notef("%s: %s %s%s to %s", run, command, ofWave(s.pair), ui.Sanitize(s.pair.Source), ui.Sanitize(s.dest.Place()))
	if f.Out.Verbose() {
		f.Out.Notef("Destination  %s", ui.Sanitize(s.dest.String()))
		f.Out.Notef("State        %s", ui.Sanitize(s.store.Path()))
	}
	introduceTables(f, s.tables, f.Out.Verbose())
	s.approved.introduce(f)
}

func logBegin(f *command.Factory, s *endpoints) {
	f.Out.Log().Info("begin", "command", f.Summary.Command, "source", s.pair.Source, "destination", s.dest.String(), "database", s.store.Path())
}

// showItems shows every decision, with --verbose and --json.
func showItems(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	if !f.Out.JSON() && !f.Out.Verbose() {
		return nil
	}
	for i, err := range s.store.Items(ctx, plan.Run.Num) {
		if err != nil {
			return err
		}
		showDecision(f, event.Plan{
			Key: string(i.Key), PreviousKey: command.PreviousKey(i), Action: string(i.Action), Reason: i.Reason, Message: whyNow(i), Category: i.Category, Folder: i.Folder, Name: i.Name, Size: i.Size,
			Error: wrongWith(i),
		})
	}
	return nil
}

// wrongWith returns the error of an object, beside its reason.
func wrongWith(i state.Item) string {
	if i.State == state.ItemFailed || i.State == state.ItemConflict {
		return i.Error
	}
	return ""
}

// showUnchanged shows an object that the plan only counts.
func showUnchanged(f *command.Factory, r state.Receipt) {
	dir, _ := r.Key.Split()
	showDecision(f, event.Plan{
		Key: string(r.Key), Action: string(state.Unchanged), Reason: string(migrate.ReasonUnchanged), Message: migrate.ReasonUnchanged.Text(),
		Category: r.Category, Folder: dir, Name: r.Filename(), Size: r.Size,
	})
}

func showDecision(f *command.Factory, l event.Plan) {
	f.Out.Event("plan", l)
	key := ui.Sanitize(l.Key)
	if l.PreviousKey != "" {
		key = ui.Sanitize(l.PreviousKey) + " -> " + key
	}
	why := l.Message
	if l.Error != "" {
		why += ": " + ui.Sanitize(l.Error)
	}
	f.Out.Printf("%-9s %s  (%s)", l.Action, key, why)
}

// newPlanner returns the planner of a run; confirmTimeout is as for confirmTimeouts.
func newPlanner(f *command.Factory, s *endpoints, confirmTimeout time.Duration, retryExhausted bool) *plan.Planner {
	watch := f.Watch()
	watch.Source = s.source
	p := plan.New(s.deps(f, watch), s.rules)
	p.RetryExhausted, p.Concurrency, p.FormerAlive = retryExhausted, f.Settings.Concurrency, s.store.FormerAlive()
	p.SourceLocation, p.Metadata, p.Approval = s.url, s.tableSum, s.approved.engine()
	p.Waves = s.waves
	_, p.ResponseTimeout = confirmTimeouts(confirmTimeout, s.dest.Profile.ListingDelay)
	return p
}

// showTallies shows the objects of a plan by action and reason.
func showTallies(f *command.Factory, tallies []state.Tally) {
	var rows [][]string
	type line struct{ action, reason string }
	shown := map[line]bool{}
	for _, t := range tallies {
		l := line{string(t.Action), t.Reason}
		if shown[l] { // the same decision, in another state by now
			continue
		}
		shown[l] = true
		n, b := sumOf(tallies, t.Action, t.Reason)
		rows = append(rows, []string{l.action, migrate.Reason(l.reason).Text(), ui.Count(n), ui.Bytes(b)})
	}
	if len(rows) > 0 {
		f.Out.Printf("\n%s", ui.Table([]ui.Column{{Title: "Action"}, {Title: "Reason", Wrap: true}, {Title: "Objects", Right: true}, {Title: "Size", Right: true}}, rows))
	}
}

// showPlanNotes shows the new categories of a plan, and objects that were deleted at the source.
func showPlanNotes(f *command.Factory, p migrate.Plan) {
	for _, c := range p.Categories {
		kind := "category"
		if c.Private {
			kind = "private category"
		}
		f.Out.Printf("New %s %q for %s", kind, ui.Sanitize(c.Name), ui.Sanitize(strings.Join(slices.Sorted(slices.Values(c.Extensions)), ", ")))
	}
	if p.Deleted > 0 && !keepsInStep(p.Run) {
		f.Out.Notef("%s since the upload; the assets stay.", ui.CountedAs(p.Deleted, "object was deleted at the source", "objects were deleted at the source"))
	}
	if f.Summary.Forgotten = p.Forgotten; p.Forgotten > 0 {
		f.Out.Notef("Forgotten: %s not uploaded, because of state forget.", ui.CountedAs(p.Forgotten, "object is", "objects are"))
	}
	showWaveFindings(f, p)
}

// printHidden reports folders that cannot be read. Plans have a finding for them.
func printHidden(f *command.Factory, p migrate.Plan) {
	if p.Hidden > 0 {
		f.Out.Notef("%s cannot be read; the objects in there are not listed.", ui.Counted(p.Hidden, "folder"))
	}
}

// keepsInStep reports whether a run is a sync, or a plan of one.
func keepsInStep(r state.Run) bool {
	rules, err := migrate.ReadRules(r)
	return err == nil && rules.Sync != nil
}

func sumOf(tallies []state.Tally, action state.Action, reason string) (objects, bytes int64) {
	for _, t := range tallies {
		if t.Action == action && t.Reason == reason {
			objects, bytes = objects+t.Objects, bytes+t.Bytes
		}
	}
	return objects, bytes
}

// shownExtensions is the number of unsupported file types that are listed without --verbose.
const shownExtensions = 5

// showUnsupported lists the file types that no category allows, on stderr.
func showUnsupported(f *command.Factory, p migrate.Plan) {
	if len(p.Unsupported) == 0 {
		return
	}
	var rows [][]string
	for n, u := range p.Unsupported {
		if n == shownExtensions && !f.Out.Verbose() {
			rows = append(rows, []string{fmt.Sprintf("… and %s more: --verbose", ui.Count(int64(len(p.Unsupported)-n)))})
			break
		}
		name := u.Extension
		if name == "" {
			name = "(none)"
		}
		rows = append(rows, []string{name, ui.Count(u.Objects), ui.Bytes(u.Bytes)})
	}
	f.Out.Notef("%s", strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Unsupported file type"}, {Title: "Objects", Right: true}, {Title: "Size", Right: true}}, rows), "\n"))
}

// hasChanges reports whether a plan would change the destination.
func hasChanges(tallies []state.Tally) bool {
	for _, t := range tallies {
		switch t.Action {
		case state.Create, state.Replace, state.UpdateMetadata, state.Move, state.Trash:
			return true
		}
	}
	return false
}

// hasWork reports whether a run would do anything for a plan, such as adopting assets.
func hasWork(tallies []state.Tally) bool {
	return outcome.CountState(tallies, state.ItemPlanned) > 0
}

// planned returns the result of a plan in one sentence.
func planned(p migrate.Plan) string {
	var all int64
	objects, bytes := map[string]int64{}, map[string]int64{}
	for _, t := range p.Tallies {
		word := plannedWord(t)
		all, objects[word], bytes[word] = all+t.Objects, objects[word]+t.Objects, bytes[word]+t.Bytes
	}
	var changes, rest []string
	for _, word := range changeWords {
		if n := objects[word]; n > 0 {
			text := ui.Count(n)
			if len(changes) == 0 {
				text += " of " + ui.Counted(all, "object") + " would be"
			}
			text += " " + word
			if b := bytes[word]; b > 0 && (word == wordCreated || word == wordReplaced) {
				text += " (" + ui.Bytes(b) + ")"
			}
			changes = append(changes, text)
		}
	}
	for _, word := range restWords {
		if n := objects[word]; n > 0 {
			rest = append(rest, ui.Count(n)+" "+word)
		}
	}
	switch {
	case all == 0:
		return "Nothing would change: no objects."
	case len(changes) == 0:
		return "Nothing would change: " + strings.Join(rest, ", ") + "."
	case len(rest) == 0:
		return strings.Join(changes, ", ") + "."
	}
	return strings.Join(changes, ", ") + "; " + strings.Join(rest, ", ") + "."
}

// The words for the objects of a plan, in the order of its result.
const (
	wordCreated  = "created"
	wordReplaced = "replaced"
)

var (
	changeWords = []string{wordCreated, wordReplaced, "moved", "updated (metadata only)", "trashed", "matched to existing assets", "mapped to the asset of identical content"}
	restWords   = []string{"in conflict", "unreadable", "changed since the approval", "unchanged", "skipped"}
)

func plannedWord(t state.Tally) string {
	switch {
	case t.State == state.ItemFailed:
		return "unreadable"
	case t.State == state.ItemChanged:
		return "changed since the approval"
	case t.Action == state.Adopt && t.Reason == string(migrate.ReasonIdenticalObject):
		return "mapped to the asset of identical content"
	}
	return map[state.Action]string{
		state.Create: wordCreated, state.Replace: wordReplaced, state.Move: "moved", state.UpdateMetadata: "updated (metadata only)", state.Trash: "trashed",
		state.Adopt: "matched to existing assets", state.Conflict: "in conflict", state.Unchanged: "unchanged", state.Skip: "skipped",
	}[t.Action]
}

// unmatched returns the error that stops a command before its first upload.
func unmatched(f *command.Factory, s *endpoints, plan migrate.Plan, source string) error {
	var n int64
	for _, u := range plan.Unsupported {
		n += u.Objects
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s an unsupported file type; nothing was uploaded", ui.CountedAs(n, "object has", "objects have")),
		"skip these objects:\n  "+f.Again(s.command(), f.SourceArgument(source), "--unsupported", "skip")+"\n"+unsupportedHint(plan))
}

// unsupportedHint returns the options for unsupported file types. A category is a list of
// extensions, so that files without one need the fallback category.
func unsupportedHint(plan migrate.Plan) string {
	create := "Or create a category for them with --unsupported create"
	if slices.ContainsFunc(plan.Unsupported, func(u migrate.ExtensionTally) bool { return !migrate.ValidExtension(u.Extension) }) {
		create += " --fallback-category NAME (which adds .bin to names without an extension)"
	}
	return create + ", or allow the extensions in a category of the service."
}
