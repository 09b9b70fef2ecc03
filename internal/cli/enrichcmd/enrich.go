// Package enrichcmd contains assetferry enrich: the AI content service proposes descriptions,
// tags and alternative texts, a person decides, and accepted proposals are written into assets.
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

// NewCommand returns assetferry enrich.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "enrich",
		Short: "Request descriptions, tags and alt texts, and apply them",
		Long: `Enrich finds assets with missing or poor descriptions and requests better ones
from the AI content service at --ai-url. A proposal changes nothing until a
person accepts it. Apply writes accepted proposals, and skips texts that changed
after the proposal. The steps:

    assetferry enrich audit               find missing and poor descriptions
    assetferry enrich describe            request proposals for images
    assetferry enrich proposals           show proposals as a page or a table
    assetferry enrich import FILE         read the decisions
    assetferry enrich apply               write accepted proposals
    assetferry undo --run ID --apply      undo a run of apply

Before describe, review, translate and documents send anything, they show the
selection, the host, the number of billable requests and the expected cost. Then
they ask for confirmation. They never send assets excluded by never_category,
never_tag or enrich_exclude. Assets in private categories are sent only with
--enrich-private allow. To continue after an interruption, repeat the command.
For details, see assetferry help enrich.
`,
	}
	c.AddCommand(
		newAuditCommand(f),
		newDescribeCommand(f),
		newReviewCommand(f),
		newTranslateCommand(f),
		newDocumentsCommand(f),
		newProposalsCommand(f),
		newImportCommand(f),
		newJudgeCommand(f, "accept", "Accept proposals as they are", true),
		newJudgeCommand(f, "reject", "Reject proposals, and do not request them again", false),
		newDecorativeCommand(f),
		newApplyCommand(f),
	)
	return c
}

// addRuleFlags adds the flags that exclude assets from the AI content service.
func addRuleFlags(f *pflag.FlagSet) {
	f.StringArray("enrich-exclude", nil, "exclude assets whose CATEGORY/FOLDER/NAME.ext matches this `glob` (repeatable)")
	f.StringArray("never-category", nil, "exclude the category with this `name` (repeatable)")
	f.StringArray("never-tag", nil, "exclude assets with this `tag` (repeatable)")
	cmdline.Setting(f, "enrich-private", "handling of assets in private categories")
}

// An enrichSession holds the connections of an enrich command.
type enrichSession struct {
	*enrich.Engine
	dest    *command.Destination
	service *command.AIService // nil if not needed
	store   *state.Store
}

// rulesOfEnrich returns the rules for excluding assets.
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

// sumUpEnrich adds a summary to the output of the command.
func sumUpEnrich(f *command.Factory) {
	f.Summary = &event.Summary{Command: strings.TrimPrefix(f.Command, "assetferry "), Actions: event.Counts{}, States: event.Counts{}}
}

// openEnrichment opens the destination and the state database. It only checks that the
// destination can be reached.
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

// An enrichWatch shows the progress of the engine.
type enrichWatch struct{ *command.Factory }

// Phase starts a progress bar.
func (w *enrichWatch) Phase(name string, assets int64) {
	w.Out.Progress().EndPhase()
	w.Out.Progress().StartPhase(name, assets, -1)
}

// Progress advances the bar.
func (w *enrichWatch) Progress(assets int64) { w.Out.Progress().Add(assets, 0) }

// Outcome reports the result for an asset. Without JSON or --verbose it only shows problems.
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
		w.Out.Notef("%s: refused by moderation (%s); a person has to write the text", name, strings.Join(o.Flagged, ", "))
	case o.Error != "":
		w.Out.Notef("%s: %s: %s", name, o.State, o.Error)
	case w.Out.Verbose() && o.Proposal != nil:
		w.Out.Notef("%s: %s", name, ui.Sanitize(o.Proposal.Text))
	}
}

type auditOptions struct {
	language string
	list     string
}

func newAuditCommand(f *command.Factory) *cobra.Command {
	var o auditOptions
	c := &cobra.Command{
		Use:   "audit",
		Short: "Find images with a missing or poor description",
		Long: `Audit lists the assets of the destination with GET requests only, and counts the
images with each finding. --list names the images.

  none        no description
  junk        a description without information, for example, only a file name
  long        a description of more than the 125 characters that are recommended
              for screen readers
  language    a description that is not in the language of --language
  decorative  an image that you marked as decorative

Audit sends nothing to the AI content service.

Decorative images need no description. To mark them, use enrich decorative.
`,
		Example: `  assetferry enrich audit --language en
  assetferry enrich audit --list junk`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return enrichAudit(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.language, "language", "", "expected `language` of descriptions, such as en or de (default any)")
	flags.StringVar(&o.list, "list", "", "name the images with this `finding`: none, junk, long, language, decorative, or all")
	return c
}

func enrichAudit(ctx context.Context, f *command.Factory, o auditOptions) error {
	if err := checkAudit(o); err != nil {
		return err
	}
	e, err := openEnrichment(ctx, f, true)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := e.Audit(ctx, o.language); err != nil {
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
	line := event.Audit{Assets: found.Assets, Images: found.Images, Findings: map[string]int64{}, Languages: map[string]int64{}}
	rows := [][]string{}
	for _, finding := range append(enrich.AllFindings(), enrich.FindingDecorative) {
		line.Findings[string(finding)] = found.Findings[finding]
		rows = append(rows, []string{string(finding), ui.Count(found.Findings[finding]), findingText(finding, o.language)})
	}
	for language, n := range found.Languages {
		line.Languages[cmp.Or(language, "unknown")] = n
	}
	f.Out.Event("audit", line)
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "Finding"}, {Title: "Images", Right: true}, {Title: "Description"}}, rows))
	if len(line.Languages) > 0 {
		f.Out.Printf("Languages of the descriptions: %s", languagesText(line.Languages))
	}
	missing := found.Findings[enrich.FindingNone] + found.Findings[enrich.FindingJunk]
	f.Out.Printf("%s of %s without a useful description. %s listed in %s.", ui.Count(missing), ui.Counted(found.Images, "image"),
		ui.Counted(found.Assets, "asset"), ui.Duration(time.Since(began)))
	if missing > 0 {
		printNext(f, "enrich describe", nil, "--dry-run")
	}
	return nil
}

// languagesText lists languages with the number of descriptions.
func languagesText(all map[string]int64) string {
	var parts []string
	for _, language := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s %s", language, ui.Count(all[language])))
	}
	return strings.Join(parts, ", ")
}

func checkAudit(o auditOptions) error {
	if err := enrich.CheckLanguage(o.language); err != nil {
		return exit.Usage(fmt.Errorf("--language: %w", err), "")
	}
	switch enrich.Finding(o.list) {
	case "", "all", enrich.FindingNone, enrich.FindingJunk, enrich.FindingLong, enrich.FindingLanguage, enrich.FindingDecorative:
		return nil
	}
	return exit.Usage(fmt.Errorf("--list: unknown finding %q", o.list), "use none, junk, long, language, decorative or all")
}

func findingText(f enrich.Finding, language string) string {
	switch f {
	case enrich.FindingNone:
		return "missing"
	case enrich.FindingJunk:
		return "says nothing, such as a file name"
	case enrich.FindingLong:
		return fmt.Sprintf("more than %d characters", enrich.MaxAlt)
	case enrich.FindingLanguage:
		if language == "" {
			return "wrong language (set --language)"
		}
		return "not in the language " + language
	case enrich.FindingDecorative:
		return "not needed: marked as decorative"
	}
	return ""
}

// listFound lists the images with a finding.
func listFound(ctx context.Context, f *command.Factory, e *enrichSession, wanted string) error {
	if wanted == "" {
		return nil
	}
	for s, err := range e.Store.Assets(ctx, e.Destination) {
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

// quoted formats a description after the name of its asset.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("  %q", ui.Sanitize(text))
}
