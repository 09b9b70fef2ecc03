package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/estimate"
	"assetferry/internal/event"
	"assetferry/internal/rehearsal"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// NewRehearseCommand makes assetferry rehearse.
func NewRehearseCommand(f *command.Factory) *cobra.Command {
	var o rehearseOptions
	c := &cobra.Command{
		Use:   "rehearse SOURCE",
		Short: "Predict the duration and the failures of a migration",
		Long: `Rehearse lists the source, plans a migration, and simulates it at a service with
the measured behaviour in --profile. doctor --probe measures a service and
writes the profile. The simulation uses the rate limiter of real runs, but no
content and no time: the uploads of a weekend take seconds.

If a destination is configured, the plan reads it and its state database, and
changes nothing. Without a destination, and with --to sandbox, the plan is for
an empty service with the profile.

The result is a range, because measured latencies vary. It does not include the
time in which the source delivers content or this machine computes, if that is
slower than the service.
`,
		Example: `  assetferry rehearse ./photos --unsupported skip --profile profile.yaml
  assetferry rehearse ./photos --unsupported skip --profile profile.yaml -j 32`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return rehearse(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&o.profile, "profile", "", "`file` with the measured behaviour of the service (required)")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of requests at the same time (default %d)", migrate.DefaultConcurrency))
	addPresetFlag(flags)
	addSelectionFlags(flags)
	addCreateFlags(flags, &o.retryExhausted)
	cmdline.Setting(flags, "provenance", "add an attribute with the source of an asset; auto adds it only to assets with other metadata")
	addDescribingFlags(flags)
	command.AddLimitFlags(flags)
	return c
}

type rehearseOptions struct {
	profile        string
	retryExhausted bool
}

func rehearse(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o rehearseOptions) error {
	f.Summary = &event.Summary{Command: "rehearse"}
	p, service, err := readMeasured(o.profile)
	if err != nil {
		return err
	}
	if err := f.Rehearse(p); err != nil {
		return err
	}
	s, err := openEndpoints(ctx, f, cmd, source, nil, SyncOptions{}, true)
	if err != nil {
		return err
	}
	f.Summary.Source, f.Summary.Destination = s.pair.Source, s.pair.Destination
	f.Out.Notef("Source       %s", ui.Sanitize(s.pair.Source))
	f.Out.Notef("Destination  %s", ui.Sanitize(s.dest.String()))
	f.Out.Notef("Profile      %s", ui.Sanitize(measuredText(o.profile, p)))
	if err := introduceWave(ctx, f, s); err != nil {
		return err
	}
	introduceTables(f, s.tables, true)
	run, err := s.begin(ctx, "plan")
	if err != nil {
		return err
	}
	plan, err := newPlanner(f, s, 0, o.retryExhausted).Plan(ctx, run)
	f.Out.Progress().EndPhase()
	if err != nil {
		return err
	}
	f.Out.Printf("%s", planned(plan))
	showTallies(f, plan.Tallies)
	if s.rules.BringsVersions() {
		if err := showHistories(ctx, f, s, plan); err != nil {
			return err
		}
	}
	showWaveFindings(f, plan)
	if plan.Blocked(s.rules) {
		showUnsupported(f, plan)
		return exit.With(exit.CodeSafetyCheck, errors.New("unsupported file types block the plan"), "skip these objects:\n  "+f.Again("rehearse", f.SourceArgument(source), "--profile", o.profile, "--unsupported", "skip"))
	}
	r := &rehearsalOf{f: f, endpoints: s, plan: plan, limits: rehearsal.Limits{MaxName: p.MaxName, ExactExtensions: p.Extensions == "exact"}}
	if r.accepted, err = r.extensions(ctx); err != nil {
		return err
	}
	refused, err := r.showRefused(ctx)
	if err != nil {
		return err
	}
	if err := r.predict(ctx, service); err != nil {
		return err
	}
	if refused > 0 {
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// readMeasured reads a profile with measured times.
func readMeasured(name string) (p profile.Profile, service rehearsal.Service, err error) {
	const create = "create a profile:\n  assetferry doctor --probe"
	if name == "" {
		return p, service, exit.Usage(errors.New("--profile is missing"), create)
	}
	if p, err = command.ReadProfile("--profile", name); err != nil {
		return p, service, err
	}
	if service = measuredService(p); service == (rehearsal.Service{}) {
		return p, service, exit.Usage(fmt.Errorf("--profile: %s contains no measured times", name), create)
	}
	return p, service, nil
}

// measuredText describes a profile.
func measuredText(name string, p profile.Profile) string {
	text := name
	if p.Service != "" {
		text += ", measured at " + p.Service
	}
	if at, err := time.Parse(time.RFC3339, p.MeasuredAt); err == nil {
		text += " on " + at.Local().Format(time.DateOnly)
	}
	return text
}

// A rehearsalOf simulates a plan.
type rehearsalOf struct {
	f *command.Factory
	*endpoints
	plan     migrate.Plan
	limits   rehearsal.Limits
	accepted map[string][]string // extensions by category
}

// extensions returns the extensions that each category accepts, new ones included.
func (r *rehearsalOf) extensions(ctx context.Context) (map[string][]string, error) {
	all := map[string][]string{}
	there, err := migrate.Categories(ctx, r.dest.Client)
	for _, c := range there {
		all[c.ID] = c.Extensions
	}
	for _, c := range r.plan.Categories {
		all[migrate.NewPrefix+c.Name] = c.Extensions
	}
	return all, err
}

// refusal returns why the service refuses a planned item, or "".
func (r *rehearsalOf) refusal(i state.Item) string {
	if i.Action != state.Create {
		return ""
	}
	base, extension := migrate.SplitName(i.Name)
	return r.limits.Refuses(i.Folder, base, extension, r.accepted[i.Category])
}

// shownRefused is the number of refused objects that are listed without --verbose.
const shownRefused = 5

// showRefused lists the planned objects that the service would refuse, and returns their number.
func (r *rehearsalOf) showRefused(ctx context.Context) (refused int64, err error) {
	for i, err := range r.store.Items(ctx, r.plan.Run.Num, state.ItemPlanned) {
		if err != nil {
			return refused, err
		}
		why := r.refusal(i)
		if why == "" {
			continue
		}
		if refused++; refused == 1 {
			r.f.Out.Printf("\nRefused by the service")
		}
		r.f.Out.Event("plan", event.Plan{Key: string(i.Key), Action: string(i.Action), Reason: i.Reason, Message: whyNow(i), Category: i.Category, Folder: i.Folder, Name: i.Name, Size: i.Size, Error: why})
		if refused <= shownRefused || r.f.Out.Verbose() {
			r.f.Out.Printf("  %s: %s", ui.Sanitize(string(i.Key)), ui.Sanitize(why))
		}
	}
	if more := refused - shownRefused; more > 0 && !r.f.Out.Verbose() {
		r.f.Out.Printf("  ... and %s more: --verbose", ui.Count(more))
	}
	return refused, nil
}

// predict shows the duration of the run.
func (r *rehearsalOf) predict(ctx context.Context, service rehearsal.Service) error {
	w, err := work(ctx, r.f, r.endpoints, r.plan)
	if err != nil || w.Items == 0 {
		return err
	}
	missing, _, err := r.store.MissingFolders(ctx, r.plan.Run.Num, r.pair.Destination)
	if err != nil {
		return err
	}
	p, err := rehearsal.Predict(service, rehearsalRun(r.f), func() iter.Seq2[rehearsal.Item, error] { return r.items(ctx, missing > 0) })
	if err != nil {
		return err
	}
	now := clock.Now()
	bounds := estimate.Bounds{Calls: r.f.Settings.MaxRequests, Bandwidth: r.f.Settings.Bandwidth}
	if end, limited := r.f.Settings.WindowEnd(now); limited {
		bounds.Window = end.Sub(now)
	}
	in := estimate.Within(w, estimate.Range{Low: p.Low, High: p.High}, bounds, now)
	requests := w.Calls + p.Throttled
	r.f.Summary.PlanEstimate = &event.PlanEstimate{Requests: requests, Low: new(event.Seconds(in.Low)), High: new(event.Seconds(in.High))}
	r.f.Out.Printf("\nRequests  %s", requestsText(requests, p.Throttled))
	r.f.Out.Printf("Duration  %s", ui.Between(in.Low, in.High))
	r.f.Out.Printf("End       between %s and %s, if started now", timeOfDay(now.Add(in.Low), now), timeOfDay(now.Add(in.High), now))
	if bounds.Window > 0 && in.High > bounds.Window {
		r.f.Out.Printf("This assumes one run a day of at most %s.", ui.Duration(bounds.Window))
	}
	return nil
}

func requestsText(all, throttled int64) string {
	if throttled == 0 {
		return ui.Count(all)
	}
	return fmt.Sprintf("%s, of which %s are refused for their rate and repeated", ui.Count(all), ui.Count(throttled))
}

// timeOfDay returns a local time, with its date if that is not the date of now.
func timeOfDay(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// items returns the planned items with their requests.
func (r *rehearsalOf) items(ctx context.Context, foldersMissing bool) iter.Seq2[rehearsal.Item, error] {
	return func(yield func(rehearsal.Item, error) bool) {
		older, err := r.store.Histories(ctx, r.plan.Run.Num)
		if err != nil {
			yield(rehearsal.Item{}, err)
			return
		}
		for range older.Brought { // of about the same size
			if !yield(rehearsal.Item{Size: older.BroughtBytes / older.Brought}, nil) {
				return
			}
		}
		folders := map[string]bool{}
		for i, err := range r.store.Items(ctx, r.plan.Run.Num, state.ItemPlanned) {
			if err != nil {
				yield(rehearsal.Item{}, err)
				return
			}
			item := r.item(i)
			if foldersMissing && i.Action == state.Create && i.Folder != "" {
				item.Before += newFolders(folders, i.Category, i.Folder)
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (r *rehearsalOf) item(i state.Item) rehearsal.Item {
	switch i.Action {
	case state.Create:
		item := rehearsal.Item{Size: i.Size, Failed: r.refusal(i) != ""}
		if r.f.Settings.Provenance == "always" {
			item.After = 1
		}
		return item
	case state.UpdateMetadata:
		return rehearsal.Item{Size: -1, Before: 2}
	}
	return rehearsal.Item{Size: -1, Before: 1}
}

// newFolders returns how many folders of a path are not in a set, and adds them.
func newFolders(known map[string]bool, category, path string) (n int) {
	for at := category + "/" + path; len(at) > len(category) && !known[at]; {
		known[at] = true
		n++
		at = at[:max(strings.LastIndexByte(at, '/'), len(category))]
	}
	return n
}
