package enrichcmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
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
	"assetferry/state/enrichment"
)

// askingOptions are what all commands that ask the AI content service for proposals take.
type askingOptions struct {
	dryRun, yes, again bool
	limit              int
	language           string
	findings           []string
	review, into       string
	settle             time.Duration
}

func (o *askingOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the data to send and the cost, and stop")
	f.BoolVar(&o.yes, "yes", false, "send without a question")
	f.BoolVar(&o.again, "again", false, "ask again, and replace earlier proposals, decisions and final failures")
	f.IntVar(&o.limit, "limit", 0, "maximum `number` of assets to ask about")
	f.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of assets at the same time (default %d)", migrate.DefaultConcurrency))
	cmdline.Setting(f, "max-credits", "stop before the run spends more than this `number` of credits; needs the scope ai:admin")
	cmdline.Setting(f, "max-duration", "stop after this `duration`")
	cmdline.Setting(f, "until", "stop at this `time` of day, such as 06:00")
	addRuleFlags(f)
	command.AddContextFlag(f)
	command.AddAIFlags(f)
}

func newDescribeCommand(f *command.Factory) *cobra.Command {
	var o askingOptions
	c := &cobra.Command{
		Use:   "describe [ASSET...]",
		Short: "Propose alt texts and tags for images",
		Long: `Describe sends images to the AI content service and keeps the returned alt texts
and tags as proposals. Each image goes to a conversation of its own, which is
deleted afterwards. Images are made smaller first, without camera data. The file
name is sent too; descriptions, tags and folders are not.

Without ASSETs, describe takes the images that the last survey found without a
useful description. A resumed run asks about no image twice.
`,
		Example: `  assetferry enrich describe --dry-run
  assetferry enrich describe --language de --limit 20 --yes`,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r := enrich.Request{Kind: enrichment.KindDescribe, Language: o.language, Assets: args}
			for _, name := range o.findings {
				if !slices.Contains(enrich.AllFindings(), enrich.Finding(name)) {
					return exit.Usage(fmt.Errorf("--finding: there is no finding %q", name), "none, junk, long or language")
				}
				r.Findings = append(r.Findings, enrich.Finding(name))
			}
			return askFor(ctx, f, o, r)
		}),
	}
	flags := c.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.language, "language", "en", "`language` of the texts, such as en, de or pt-BR")
	flags.StringArrayVar(&o.findings, "finding", nil, "ask about images with this `finding` (repeatable) (default none, junk)")
	flags.DurationVar(&o.settle, "confirm-timeout", enrich.DefaultSettle, "wait this `duration` for a reply that was lost on its way")
	cmdline.Setting(flags, "ai-model", "`ID` of the model (default: recommended by the service)")
	return c
}

func newReviewCommand(f *command.Factory) *cobra.Command {
	var o askingOptions
	c := &cobra.Command{
		Use:   "review [ASSET...]",
		Short: "Proofread existing descriptions",
		Long: `Review sends existing descriptions to the AI content service, many per request,
and keeps its changes as proposals. Images are not sent. Without ASSETs, review
takes all assets with a description.
`,
		Example: `  assetferry enrich review --dry-run
  assetferry enrich review --review clarity --yes`,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return askFor(ctx, f, o, enrich.Request{Kind: enrichment.KindReview, Review: o.review, Assets: args})
		}),
	}
	flags := c.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.review, "review", "correctness", "kind of `review`: correctness, clarity, readability, make-shorter, or another one of the service")
	return c
}

func newTranslateCommand(f *command.Factory) *cobra.Command {
	var o askingOptions
	var to languageOrDestination
	c := &cobra.Command{
		Use:   "translate --to LANGUAGE [ASSET...]",
		Short: "Translate existing descriptions",
		Long: `Translate sends existing descriptions to the AI content service, many per
request, and keeps the translations as proposals. Images are not sent. Accepted
texts go to a custom attribute, such as description_de. --into names another
attribute, or description itself.

Here --to is a language or a destination, and can be given twice. --language is
always a language.
`,
		Example: `  assetferry enrich translate --to de --dry-run
  assetferry enrich translate --to de --into description --yes`,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := languageOnce(cmd, o.language, to.language); err != nil {
				return err
			}
			return askFor(ctx, f, o, enrich.Request{Kind: enrichment.KindTranslate, Language: o.language + to.language, Into: o.into, Assets: args})
		}),
	}
	flags := c.Flags()
	o.addFlags(flags)
	flags.Var(&to, "to", "target `language`, or the destination")
	flags.StringVar(&o.language, "language", "", "target `language`")
	flags.StringVar(&o.into, "into", "", "write translations to this `attribute`, or to description (default description_LANGUAGE)")
	return c
}

func languageOnce(cmd *cobra.Command, one, other string) error {
	switch {
	case one == "" && other == "":
		return exit.Usage(errors.New("translate: to which language?"), "--to de, or another one")
	case one != "" && other != "":
		return exit.Usage(errors.New("--language and --to both name a language"), "leave one of them out")
	}
	return nil
}

// askFor has something proposed: it says what would leave and what that takes, asks, and does
// it.
func askFor(ctx context.Context, f *command.Factory, o askingOptions, r enrich.Request) error {
	began := time.Now()
	if err := checkAsking(f, o, &r); err != nil {
		return err
	}
	e, err := openEnrichment(ctx, f, true)
	if err != nil {
		return err
	}
	if err := openService(ctx, f, e, o, &r); err != nil {
		return err
	}
	if err := surveyFirst(ctx, f, e, r); err != nil {
		return err
	}
	plan, err := e.Plan(ctx, r)
	if err != nil {
		return err
	}
	if err := showLeaving(ctx, f, e, r, plan, o.dryRun); err != nil {
		return err
	}
	if o.dryRun {
		f.Out.Notef("Nothing was sent: this was a dry run.")
		return nil
	}
	if plan.Assets > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Send this to %s?", e.service.Host()))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("not sent: nobody said yes"), "--yes answers the question")
		}
	}
	return workOn(ctx, f, began, "enrich "+string(r.Kind), e, func(ctx context.Context) (enrich.Result, error) { return e.Ask(ctx, r) })
}

// checkAsking finds the mistakes that can be told before anything is opened.
func checkAsking(f *command.Factory, o askingOptions, r *enrich.Request) error {
	var err error
	if r.Rules, err = rulesOfEnrich(f); err != nil {
		return err
	}
	if err := enrich.CheckLanguage(r.Language); err != nil {
		return exit.Usage(err, "")
	}
	r.Again, r.Limit, r.MaxCredits = o.again, o.limit, f.Settings.MaxCredits
	switch {
	case r.Kind == enrichment.KindDescribe && o.settle <= 0:
		return exit.Usage(errors.New("--confirm-timeout must be more than 0"), "a reply that takes longer is asked for, and billed, twice; leave it out if in doubt")
	case o.limit < 0:
		return exit.Usage(errors.New("--limit must not be negative"), "leave it out for no limit")
	case !o.dryRun && !o.yes && !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("it asks before it sends anything, and nobody is here to answer"), "look with --dry-run, then add --yes")
	}
	return nil
}

// openService opens the AI content service and finds the model.
func openService(ctx context.Context, f *command.Factory, e *enrichSession, o askingOptions, r *enrich.Request) (err error) {
	var contexts []ai.Context
	if e.service, r.Contexts, contexts, err = f.OpenAIWithContexts(ctx); err != nil {
		return err
	}
	f.Out.Notef("Sends to     %s", e.service)
	if r.Kind == enrichment.KindDescribe {
		m, err := f.ChooseModel(ctx, e.service)
		if err != nil {
			return err
		}
		r.Model = enrich.Model{ID: m.ID, MaxImageBytes: m.Limits.MaxImageSize}
		f.Out.Notef("Model        %s", ui.Sanitize(m.ID))
		printRemoval(f, m)
	}
	f.NoteContexts(r.Contexts, contexts)
	d := enrichDeps(f, e)
	d.Settle = o.settle
	e.Engine = enrich.New(d)
	return nil
}

// printRemoval says that a model goes soon.
func printRemoval(f *command.Factory, m ai.Model) {
	if !m.Removal.IsZero() {
		f.Out.Notef("The model %s goes on %s; --ai-model chooses another one.", ui.Sanitize(m.ID), m.Removal.Format(time.DateOnly))
	}
}

// surveyFirst lists what is there now: what was brought, applied or moved since the last survey
// counts, and so do the folders that decide what never leaves.
func surveyFirst(ctx context.Context, f *command.Factory, e *enrichSession, r enrich.Request) error {
	wanted := ""
	if slices.Contains(r.Findings, enrich.FindingLanguage) {
		wanted = r.Language
	}
	defer f.Out.Progress().EndPhase()
	return e.Survey(ctx, wanted)
}

// showLeaving says what a request would send, and what it holds back. A dry run names each
// asset.
func showLeaving(ctx context.Context, f *command.Factory, e *enrichSession, r enrich.Request, plan enrich.Estimate, list bool) error {
	if list || f.Out.Verbose() {
		if err := listLeaving(f, e.Leaving(ctx, r)); err != nil {
			return err
		}
	}
	line := event.Estimate{Service: plan.Host, Kind: string(r.Kind), Assets: plan.Assets, Calls: plan.Calls, Credits: plan.Credits, Seconds: event.Seconds(plan.Duration), Bytes: plan.Bytes, Held: map[string]int64{}, Contexts: command.NamesOf(r.Contexts), OtherContexts: plan.Other}
	for reason, n := range plan.Held {
		line.Held[string(reason)] = n
	}
	f.Out.Event("estimate", line)
	what := "descriptions"
	if r.Kind == enrichment.KindDescribe {
		what = "pictures"
	}
	f.Out.Printf("To %s would leave: %s %s", plan.Host, ui.Count(plan.Assets), what)
	if r.Kind == enrichment.KindDescribe && plan.Assets > 0 {
		f.Out.Printf("    at most %s", ui.Bytes(plan.Bytes))
	}
	if plan.Assets > 0 {
		cost := "credits unknown: no earlier run knows what a call costs"
		if plan.Credits != nil {
			cost = "about " + command.CreditsText(*plan.Credits) + " credits, by earlier runs"
		}
		f.Out.Printf("    %s, %s, about %s", ui.Counted(plan.Calls, "billed call"), cost, ui.Duration(plan.Duration))
	}
	for _, reason := range slices.Sorted(maps.Keys(plan.Held)) {
		f.Out.Printf("Held back: %s, %s", ui.Count(plan.Held[reason]), heldText(reason))
	}
	if plan.Other > 0 {
		f.Out.Printf("    %s of those proposed already were proposed with other contexts; --again proposes for them again", ui.Count(plan.Other))
	}
	return nil
}

func listLeaving(f *command.Factory, all iter.Seq2[enrich.Leaving, error]) error {
	for l, err := range all {
		if err != nil {
			return err
		}
		f.Out.Event("leaving", event.Leaving{AssetID: l.Asset, Path: enrich.Path(l.Surveyed), Leaves: l.Reason == "", Reason: string(l.Reason)})
		verdict := "leaves"
		if l.Reason != "" {
			verdict = "stays, " + heldText(l.Reason)
		}
		f.Out.Printf("%s: %s", ui.Sanitize(enrich.Path(l.Surveyed)), verdict)
	}
	return nil
}

func heldText(r enrich.Reason) string {
	switch r {
	case enrich.ReasonExcluded:
		return "excluded by a rule"
	case enrich.ReasonCategory:
		return "in a category that never leaves"
	case enrich.ReasonPrivate:
		return "private"
	case enrich.ReasonTag:
		return "with a tag that never leaves"
	case enrich.ReasonDecorative:
		return "only decoration"
	case enrich.ReasonNoPicture:
		return "not a picture that can be read"
	case enrich.ReasonKnown:
		return "proposed already"
	case enrich.ReasonUnsettled:
		return "asked about already, and whether there is a reply is not known yet"
	case enrich.ReasonRefused:
		return "refused by the moderation of the service"
	case enrich.ReasonFailed:
		return "failed for good"
	case enrich.ReasonConflict:
		return "written by somebody else since"
	}
	return string(r)
}
