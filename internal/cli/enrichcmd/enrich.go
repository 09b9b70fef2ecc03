// Package enrichcmd holds assetferry enrich: descriptions, tags and alt texts that the AI
// content service proposes, that a person judges, and that are written into assets.
package enrichcmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/enrich"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/enrichment"
)

// NewCommand makes assetferry enrich.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "enrich",
		Short: "Propose descriptions, tags and alt texts with AI",
		Long: `Enrich finds assets whose descriptions are missing or no good, and has the AI
content service at --ai-url propose better ones. A proposal changes nothing: a
person accepts, edits or rejects it, and apply then writes what was accepted,
never over a text that somebody wrote since. In this order:

    assetferry enrich audit              what is missing, and where
    assetferry enrich describe            proposals for pictures
    assetferry enrich proposals           to look at them, as a page or a table
    assetferry enrich import FILE         what was decided there
    assetferry enrich apply               write what was accepted
    assetferry undo --run ID              take it back

Before anything is sent, describe, review, translate and documents say what
leaves, where to, how many calls that takes and what they cost as far as that is
known, and ask. What private categories hold never leaves, nor what
never_category, never_tag or enrich_exclude name. Everything is in the journal:
run a command again to go on where it stopped. assetferry help enrich tells all
of it.
`,
	}
	c.AddCommand(
		newSurveyCommand(f),
		newDescribeCommand(f),
		newReviewCommand(f),
		newTranslateCommand(f),
		newDocumentsCommand(f),
		newProposalsCommand(f),
		newImportCommand(f),
		newJudgeCommand(f, "accept", "Accept proposals unchanged", true),
		newJudgeCommand(f, "reject", "Reject proposals for good", false),
		newDecorativeCommand(f),
		newApplyCommand(f),
	)
	return c
}

// addRuleFlags adds what decides what never leaves for the AI content service.
func addRuleFlags(f *pflag.FlagSet) {
	f.StringArray("enrich-exclude", nil, "never send assets that match this `glob` on CATEGORY/FOLDER/NAME.ext (repeatable)")
	f.StringArray("never-category", nil, "never send assets of the category with this `name` (repeatable)")
	f.StringArray("never-tag", nil, "never send assets with this `tag` (repeatable)")
	cmdline.Setting(f, "enrich-private", "allow sending assets of private categories, or never")
}

// An enrichSession is what the commands of enrich work with.
type enrichSession struct {
	*enrich.Engine
	dest    *command.Destination
	service *command.AIService // nil where it is not needed
	store   *state.Store
}

// rulesOfEnrich are what never leaves for the AI content service.
func rulesOfEnrich(f *command.Factory) (enrich.Rules, error) {
	r := enrich.Rules{
		Exclude: f.Settings.EnrichExclude, Categories: f.Settings.NeverCategory, Tags: f.Settings.NeverTag,
		Private: f.Settings.EnrichPrivate == "allow",
	}
	if err := r.Check(); err != nil {
		return r, exit.Usage(err, "")
	}
	return r, nil
}

// sumUpEnrich has the command end with a summary.
func sumUpEnrich(f *command.Factory) {
	f.Summary = &event.Summary{Command: strings.TrimPrefix(f.Command, "assetferry "), Actions: event.Counts{}, States: event.Counts{}}
}

// openEnrichment opens the destination and its journal. Nothing is asked of the destination
// yet but whether it is there.
func openEnrichment(ctx context.Context, f *command.Factory, readOnly bool) (*enrichSession, error) {
	return openEnrichmentFor(ctx, f, readOnly, f.CommandSubject())
}

func openEnrichmentFor(ctx context.Context, f *command.Factory, readOnly bool, s command.Subject) (*enrichSession, error) {
	sumUpEnrich(f)
	e := &enrichSession{}
	var err error
	if e.dest, err = f.OpenPermitted(ctx, readOnly, s); err != nil {
		return nil, err
	}
	path, err := f.Ping(ctx, e.dest)
	if err != nil {
		return nil, err
	}
	f.PrintLoss(path)
	if e.store, err = f.OpenState(ctx, path); err != nil {
		return nil, err
	}
	f.Summary.Destination = e.dest.Identity()
	f.StartMeter(ctx, e.dest, e.store)
	f.Out.Notef("Destination  %s", e.dest)
	f.Out.Notef("State        %s", ui.Sanitize(path))
	e.Engine = enrich.New(enrichDeps(f, e))
	return e, nil
}

func enrichDeps(f *command.Factory, e *enrichSession) enrich.Deps {
	d := enrich.Deps{
		Store: enrichment.In(e.store), Library: e.dest.Client, Writer: e.dest.Client, Destination: e.dest.Identity(),
		Concurrency: migrate.Workers(f.Settings.Concurrency), Stop: f.Stop, Observer: &enrichWatch{Factory: f},
	}
	if e.service != nil {
		d.Service, d.Host = e.service.Engine(), e.service.Host()
		if e.service.Limited {
			d.PerMinute = int64(ai.SaaSLimits().PerUser.LLMRequests)
		}
	}
	return d
}

// An enrichWatch tells people and programs what the engine does.
type enrichWatch struct{ *command.Factory }

// Phase begins another bar.
func (w *enrichWatch) Phase(name string, assets int64) {
	w.Out.Progress().EndPhase()
	w.Out.Progress().StartPhase(name, assets, -1)
}

// Progress moves it.
func (w *enrichWatch) Progress(assets int64) { w.Out.Progress().Add(assets, 0) }

// Outcome tells what became of an asset: in JSON of all, else of what did not go well.
func (w *enrichWatch) Outcome(o enrich.Outcome) {
	line := event.Enrichment{
		AssetID: o.Asset, Path: o.Path, Kind: string(o.Kind), Language: o.Language, State: string(o.State),
		Error: o.Error, Class: o.Class, Flagged: o.Flagged,
	}
	if o.Proposal != nil {
		line.Description, line.Tags, line.Decorative, line.Note = o.Proposal.Text, o.Proposal.Tags, o.Proposal.Decorative, o.Proposal.Note
	}
	w.Out.Event("enrichment", line)
	name := ui.Sanitize(o.Path)
	if name == "" {
		name = o.Asset
	}
	switch {
	case len(o.Flagged) > 0:
		w.Out.Notef("%s: refused by the moderation of the service (%s); a person has to write its text", name, strings.Join(o.Flagged, ", "))
	case o.Error != "":
		w.Out.Notef("%s: %s: %s", name, o.State, o.Error)
	case w.Out.Verbose() && o.Proposal != nil:
		w.Out.Notef("%s: %s", name, ui.Sanitize(o.Proposal.Text))
	}
}

type surveyOptions struct {
	language string
	list     string
}

func newSurveyCommand(f *command.Factory) *cobra.Command {
	var o surveyOptions
	c := &cobra.Command{
		Use:   "survey",
		Short: "Find images with missing or useless descriptions",
		Long: `Survey lists the assets of the destination and counts images with a description
that is missing, that says nothing (a file name, a camera name), that exceeds
125 characters, or that is in another language. --list lists these images.
Nothing is sent to the AI content service.

"assetferry enrich decorative" marks images that need no description.
`,
		Example: `  assetferry enrich audit --language en
  assetferry enrich audit --list junk`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return enrichSurvey(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.language, "language", "", "expected `language` of descriptions, such as en or de (default: any)")
	flags.StringVar(&o.list, "list", "", "`none|junk|long|language|decorative|all`: list the images with this finding")
	return c
}

func enrichSurvey(ctx context.Context, f *command.Factory, o surveyOptions) error {
	if err := checkSurvey(o); err != nil {
		return err
	}
	e, err := openEnrichment(ctx, f, true)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := e.Survey(ctx, o.language); err != nil {
		return err
	}
	f.Out.Progress().EndPhase()
	found, err := e.Findings(ctx)
	if err != nil {
		return err
	}
	if err := listFound(ctx, f, e, o.list); err != nil {
		return err
	}
	line := event.Survey{Assets: found.Assets, Pictures: found.Pictures, Findings: map[string]int64{}, Languages: map[string]int64{}}
	rows := [][]string{}
	for _, finding := range append(enrich.AllFindings(), enrich.FindingDecorative) {
		line.Findings[string(finding)] = found.Findings[finding]
		rows = append(rows, []string{string(finding), ui.Count(found.Findings[finding]), findingText(finding, o.language)})
	}
	for language, n := range found.Languages {
		line.Languages[cmp.Or(language, "unknown")] = n
	}
	f.Out.Event("survey", line)
	f.Out.Printf("%s, %s of them, looked at in %s:", ui.Counted(found.Assets, "asset"), ui.Counted(found.Pictures, "picture"), ui.Duration(time.Since(began)))
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "Finding"}, {Title: "Pictures", Right: true}, {Title: "The description"}}, rows))
	if len(line.Languages) > 0 {
		f.Out.Printf("Languages of the descriptions: %s", languagesText(line.Languages))
	}
	f.Out.Notef("Try: assetferry enrich describe --dry-run shows what it takes to describe what is found")
	return nil
}

// languagesText names languages with how many descriptions there are in each.
func languagesText(all map[string]int64) string {
	var parts []string
	for _, language := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s %s", language, ui.Count(all[language])))
	}
	return strings.Join(parts, ", ")
}

func checkSurvey(o surveyOptions) error {
	if err := enrich.CheckLanguage(o.language); err != nil {
		return exit.Usage(fmt.Errorf("--language: %w", err), "")
	}
	switch enrich.Finding(o.list) {
	case "", "all", enrich.FindingNone, enrich.FindingJunk, enrich.FindingLong, enrich.FindingLanguage, enrich.FindingDecorative:
		return nil
	}
	return exit.Usage(fmt.Errorf("--list %q is not a finding", o.list), "none, junk, long, language, decorative or all")
}

func findingText(f enrich.Finding, language string) string {
	switch f {
	case enrich.FindingNone:
		return "is missing"
	case enrich.FindingJunk:
		return "says nothing, such as the name of a file"
	case enrich.FindingLong:
		return fmt.Sprintf("has more than %d characters", enrich.MaxAlt)
	case enrich.FindingLanguage:
		if language == "" {
			return "is in another language; --language says which one is wanted"
		}
		return "is not in the language " + language
	case enrich.FindingDecorative:
		return "is not needed: a person said so"
	}
	return ""
}

// listFound names the pictures with a finding.
func listFound(ctx context.Context, f *command.Factory, e *enrichSession, wanted string) error {
	if wanted == "" {
		return nil
	}
	for s, err := range e.Store.Surveyed(ctx, e.Destination) {
		if err != nil {
			return err
		}
		var names []string
		match := false
		for _, finding := range enrich.FindingsOf(s) {
			names = append(names, string(finding))
			match = match || wanted == "all" || string(finding) == wanted
		}
		if !match || !enrich.IsPicture(s) {
			continue
		}
		f.Out.Event("finding", event.Finding{AssetID: s.Asset, Path: enrich.Path(s), Findings: names, Description: s.Description, Language: s.Language})
		f.Out.Printf("%-12s  %-12s  %s%s", ui.Sanitize(s.Asset), strings.Join(names, ","), ui.Sanitize(enrich.Path(s)), quoted(s.Description))
	}
	return nil
}

// quoted shows a description behind what it is of.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("  %q", ui.Sanitize(text))
}
