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
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// NewPlanCommand makes assetferry plan.
func NewPlanCommand(f *command.Factory) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan SOURCE",
		Short: "Show what migrate would do: a dry run",
		Long: `Plan lists the source, looks at the destination, and decides for every object
what has to happen and why. It changes no file but the journal, and sends
nothing but GET and HEAD requests and two kinds of POST that change nothing: for
the cookie, if it has to read a file of a private category, and to ask which
names exist where a sync would move or rename assets.

With --verbose, or with --json, every object is shown.

Below the plan is what people should know before it is carried out: what will
not arrive, what would be public, what may run where it is opened, each with the
switch or the person that decides it. With --probe the beginning of each object
that would be sent is read, too: images that are too large or damaged, files
that are not what their extension says, drawings with script, equal contents.

With --output the plan is also written into a file, to be approved by its hash.
"assetferry apply FILE --hash HEX" carries out that plan and nothing else; what
has changed since, at the source or at the destination, it leaves alone.

A plan with conflicts, or with objects that cannot be read, exits with 3, as the
run would that carries it out. --exit-code exits with 5 where nothing of that
kind is in the plan, and there is something to do.
`,
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
	flags.BoolVar(&o.exitCode, "exit-code", false, "exit with 5 if there is anything to do, and nothing that exits with 3")
	flags.StringVar(&o.explain, "explain-mapping", "", "show what rules make of the object of this `key`, and why, and nothing else")
	flags.BoolVar(&o.probe, "probe", false, "read the beginning of what would be sent, too, and tell what is wrong with it")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of requests and of reads at once (default %d)", migrate.DefaultConcurrency))
	addSelectionFlags(flags)
	addCreateFlags(flags, &o.retryExhausted)
	addDescribingFlags(flags)
	command.AddLimitFlags(flags)
	flags.BoolVar(&o.sync.on, "sync", false, "show what sync would do")
	addSyncFlags(flags, &o.sync)
	return c
}

type planOptions struct {
	exitCode, adoptOnly, retryExhausted bool
	probe                               bool
	explain                             string // the key of the object whose mapping is explained
	output                              string // a file to write the plan into
	sync                                SyncOptions
	approved                            *approvedPlan
}

func runPlan(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o planOptions) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: "plan"}
	defer f.StartWindow()()
	if o.sync.on && o.output != "" {
		return exit.Usage(errors.New("--output keeps plans of migrate only"), "a sync is carried out as it is planned; look at it with --dry-run, with --json or --verbose for every object")
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
	introduce(f, s)
	if err := noteUnfinished(ctx, f, s); err != nil {
		return err
	}
	run, err := s.begin(ctx, "plan")
	if err != nil {
		return err
	}
	planner := planner(f, s, 0, o.retryExhausted)
	guard(f, planner, o.sync)
	if f.Out.Verbose() {
		planner.Unchanged = func(r state.Receipt) { showUnchanged(f, r) }
	}
	plan, err := planner.Plan(ctx, run)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	if err := showWhole(ctx, f, s, plan, o.probe); err != nil {
		return err
	}
	outcome.SumUp(f, plan.Run, plan.Tallies, time.Since(began))
	if _, err := printTable(ctx, f, s, plan.Run, false); err != nil {
		return err
	}
	f.Out.Printf("%s Nothing was sent.", planned(plan))
	if err := printEstimate(ctx, f, s, plan, source); err != nil {
		return err
	}
	if err := showDrift(ctx, f, s, plan); err != nil {
		return err
	}
	printHash(f, plan, o.approved)
	if err := writePlan(ctx, f, s, planner, plan, o.output); err != nil {
		return err
	}
	return endOfPlan(f, s, plan, o)
}

// showWhole shows a plan, each object of it, and what is worth a look before it is carried out.
func showWhole(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, probe bool) error {
	if err := showItems(ctx, f, s, plan); err != nil {
		return err
	}
	findings, err := findings(ctx, f, s, plan, probe)
	if err != nil {
		return err
	}
	showPlan(f, plan)
	printNothingMatches(f, plan, s.rules)
	if err := printNewCategory(ctx, f, s, plan); err != nil {
		return err
	}
	showFindings(f, findings)
	showUnsupported(f, plan)
	return nil
}

// noteUnfinished says that a run is not finished, which its command would carry on first.
func noteUnfinished(ctx context.Context, f *command.Factory, s *endpoints) error {
	open, decided, err := command.DecideRun(ctx, s.store, s.pair, migrate.RunSituation{Command: "plan"})
	if err == nil && decided.Why == migrate.WhyOtherRun {
		f.Out.Notef("Run %s is not finished: %s will first carry it on. This plan is of what is left.", open.ID, open.Command)
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

// endOfPlan is the error of a plan that stops, or that has something to do where that is asked.
func endOfPlan(f *command.Factory, s *endpoints, plan migrate.Plan, o planOptions) error {
	switch {
	case plan.Blocked(s.rules):
		return unmatched(plan)
	case len(plan.FailedChecks) > 0 || plan.Run.Stopped != "":
		return showSafetyChecks(f, plan)
	case outcome.ExitOf(plan.Tallies) != exit.CodeDone: // as the run that carries it out would
		return exit.Said(exit.CodeItems)
	case o.exitCode && hasChanges(plan.Tallies):
		return exit.Said(exit.CodeChanges)
	}
	return nil
}

// introduce says where from, where to and where the journal is.
func introduce(f *command.Factory, s *endpoints) {
	f.Out.Log().Info("begin", "command", f.Summary.Command, "source", s.pair.Source, "destination", s.dest.String(), "journal", s.store.Path())
	f.Out.Notef("Source       %s", ui.Sanitize(s.pair.Source))
	f.Out.Notef("Destination  %s", ui.Sanitize(s.dest.String()))
	f.Out.Notef("Journal      %s", ui.Sanitize(s.store.Path()))
	introduceMetadata(f, s.metadata)
	s.approved.introduce(f)
}

// showItems shows every decision, if that was asked for.
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

// wrongWith says what keeps an object out where its reason does not.
func wrongWith(i state.Item) string {
	if i.State == state.ItemFailed || i.State == state.ItemConflict {
		return i.Error
	}
	return ""
}

// showUnchanged shows an object of which the plan only keeps count.
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

// planner makes what makes a plan; settle is as for settleTimes.
func planner(f *command.Factory, s *endpoints, settle time.Duration, retryExhausted bool) *plan.Planner {
	p := plan.New(s.deps(f, f.Watch()), s.rules)
	p.RetryExhausted, p.Concurrency, p.FormerAlive = retryExhausted, f.Settings.Concurrency, s.store.FormerAlive()
	p.SourceLocation, p.Metadata, p.Approval = s.address, s.tableSum, s.approved.engine()
	_, p.ResponseTimeout = settleTimes(settle, s.dest.Profile.ListingDelay)
	return p
}

// showTallies shows a plan's sums, by action and reason, and in all.
func showTallies(f *command.Factory, tallies []state.Tally, all string) {
	var rows [][]string
	var objects, bytes int64
	type line struct{ action, reason string }
	shown := map[line]bool{}
	for _, t := range tallies {
		objects, bytes = objects+t.Objects, bytes+t.Bytes
		l := line{string(t.Action), t.Reason}
		if shown[l] { // the same decision, in another state by now
			continue
		}
		shown[l] = true
		n, b := sumOf(tallies, t.Action, t.Reason)
		rows = append(rows, []string{l.action, migrate.Reason(l.reason).Text(), ui.Count(n), ui.Bytes(b)})
	}
	rows = append(rows, []string{"", all, ui.Count(objects), ui.Bytes(bytes)})
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "Action"}, {Title: "Reason", Wrap: true}, {Title: "Objects", Right: true}, {Title: "Size", Right: true}}, rows))
}

// showPlan shows what a plan is about to do.
func showPlan(f *command.Factory, p migrate.Plan) {
	all := "listed in all"
	if keepsInStep(p.Run) {
		all = "listed, or known before"
	}
	showTallies(f, p.Tallies, all)
	for _, c := range p.Categories {
		kind := "category"
		if c.Private {
			kind = "private category"
		}
		f.Out.Printf("New %s %q for %s", kind, ui.Sanitize(c.Name), ui.Sanitize(strings.Join(slices.Sorted(slices.Values(c.Extensions)), ", ")))
	}
	if p.Deleted > 0 && !keepsInStep(p.Run) {
		f.Out.Notef("Gone from the source since they arrived: %s. Their assets are left alone.", ui.Counted(p.Deleted, "object"))
	}
	if p.Hidden > 0 {
		f.Out.Notef("Folders that cannot be read: %s. What is in them is not listed here.", ui.Count(p.Hidden))
	}
}

// keepsInStep reports whether a run, or the plan of one, keeps a destination in step.
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

// shownExtensions is how many extensions a person is shown that no category allows.
const shownExtensions = 20

// showUnsupported tells which extensions no category allows, on stderr: it is a
// diagnosis.
func showUnsupported(f *command.Factory, p migrate.Plan) {
	if len(p.Unsupported) == 0 {
		return
	}
	var rows [][]string
	for n, u := range p.Unsupported {
		if n == shownExtensions && !f.Out.Verbose() {
			rows = append(rows, []string{fmt.Sprintf("… and %s more, see --verbose", ui.Count(int64(len(p.Unsupported)-n)))})
			break
		}
		name := u.Extension
		if name == "" {
			name = "(none)"
		}
		rows = append(rows, []string{name, ui.Count(u.Objects), ui.Bytes(u.Bytes)})
	}
	f.Out.Notef("No category allows these extensions:\n%s", strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Extension"}, {Title: "Objects", Right: true}, {Title: "Size", Right: true}}, rows), "\n"))
}

func hasChanges(tallies []state.Tally) bool {
	for _, t := range tallies {
		switch t.Action {
		case state.Create, state.Replace, state.UpdateMetadata, state.Move, state.Trash:
			return true
		}
	}
	return false
}

func planned(p migrate.Plan) string {
	var created, bytes, adopted, shared, conflicts, failed, drifted int64
	var replaced, rewritten, described, moved, trashed int64
	for _, t := range p.Tallies {
		switch {
		case t.State == state.ItemFailed:
			failed += t.Objects
		case t.State == state.ItemChanged:
			drifted += t.Objects
		case t.Action == state.Create:
			created, bytes = created+t.Objects, bytes+t.Bytes
		case t.Action == state.Adopt && t.Reason == string(migrate.ReasonIdenticalObject):
			shared += t.Objects
		case t.Action == state.Adopt:
			adopted += t.Objects
		case t.Action == state.Replace:
			replaced, rewritten = replaced+t.Objects, rewritten+t.Bytes
		case t.Action == state.UpdateMetadata:
			described += t.Objects
		case t.Action == state.Move:
			moved += t.Objects
		case t.Action == state.Trash:
			trashed += t.Objects
		case t.Action == state.Conflict:
			conflicts += t.Objects
		}
	}
	s := fmt.Sprintf("%s would be created, %s", ui.Counted(created, "asset"), ui.Bytes(bytes))
	if created == 0 && hasChanges(p.Tallies) {
		s = "No asset would be created"
	}
	for _, more := range []struct {
		n    int64
		what string
	}{{replaced, "replaced, " + ui.Bytes(rewritten)}, {moved, "moved"}, {described, "described"}, {trashed, "trashed"}, {adopted, "adopted"}, {shared, "sharing the asset of another object"}, {conflicts, "left to you (conflict)"}, {failed, "not readable"}, {drifted, "left alone, because they drifted"}} {
		if more.n > 0 {
			s += fmt.Sprintf("; %s %s", ui.Count(more.n), more.what)
		}
	}
	return s + "."
}

// unmatched stops a command before anything is sent.
func unmatched(plan migrate.Plan) error {
	var n int64
	for _, u := range plan.Unsupported {
		n += u.Objects
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s with an extension that no category allows; nothing was sent", ui.Counted(n, "object")),
		unsupportedHint(plan))
}

// unsupportedHint says what helps. A category is a list of extensions, so that files without
// one need the fallback category.
func unsupportedHint(plan migrate.Plan) string {
	create := "have a category made with --unsupported create"
	if slices.ContainsFunc(plan.Unsupported, func(u migrate.ExtensionTally) bool { return !migrate.ValidExtension(u.Extension) }) {
		create += " --fallback-category NAME (which adds .bin to names without an extension)"
	}
	return "leave them out with --unsupported skip, " + create + ", or allow the extensions in a category of the service"
}
