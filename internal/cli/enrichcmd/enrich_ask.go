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

// askingOptions are the options of all commands that request proposals.
type askingOptions struct {
	dryRun, yes, again bool
	limit              int
	language           string
	findings           []string
	review, into       string
	confirmTimeout     time.Duration
}

func (o *askingOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the selection and the estimate, and send nothing")
	f.BoolVar(&o.yes, "yes", false, "send without confirmation")
	f.BoolVar(&o.again, "again", false, "also send assets with a proposal or a permanent failure; new proposals replace old proposals and their decisions")
	f.IntVar(&o.limit, "limit", 0, "send at most this `number` of assets")
	f.StringP("concurrency", "j", "", fmt.Sprintf("process at most this `number` of assets at a time (default %d)", migrate.DefaultConcurrency))
	cmdline.Setting(f, "max-credits", "stop before the run uses more than this `number` of credits; needs the permission ai:admin")
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
		Short: "Request descriptions and tags for images",
		Long: `Describe sends images to the AI content service. It stores the descriptions and
tags in the answers as proposals. Each image has its own conversation, which is
deleted afterwards. Images are reduced first, and their metadata is removed.
Without ASSETs, describe runs an audit. It selects the images whose description
is missing or contains no information.

Each image is sent once. After an interruption, describe looks for the answer
instead of sending the image again. The file name is sent with the image.
Descriptions, tags and folders are not sent.
`,
		Example: `  assetferry enrich describe --dry-run
  assetferry enrich describe --language de --limit 20 --yes`,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r := enrich.Request{Kind: enrichment.KindDescribe, Language: o.language, Assets: args}
			for _, name := range o.findings {
				if !slices.Contains(enrich.AllFindings(), enrich.Finding(name)) {
					return exit.Usage(fmt.Errorf("--finding: unknown finding %q", name), "use none, junk, long or language")
				}
				r.Findings = append(r.Findings, enrich.Finding(name))
			}
			return askFor(ctx, f, o, r)
		}),
	}
	flags := c.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.language, "language", "en", "`language` of the texts, such as en, de or pt-BR")
	flags.StringArrayVar(&o.findings, "finding", nil, "select images with this `finding` (repeatable; default: the findings none and junk)")
	flags.DurationVar(&o.confirmTimeout, "confirm-timeout", enrich.DefaultConfirmTimeout, "wait this `duration` for an answer after the connection is lost")
	cmdline.Setting(flags, "ai-model", "`ID` of the model (default: recommended by the service)")
	return c
}

func newReviewCommand(f *command.Factory) *cobra.Command {
	var o askingOptions
	c := &cobra.Command{
		Use:   "review [ASSET...]",
		Short: "Request corrections of existing descriptions",
		Long: `Review sends existing descriptions to the AI content service, several per
request. It stores the suggested changes as proposals. Images are not sent.
Without ASSETs, review selects all assets with a description.
`,
		Example: `  assetferry enrich review --dry-run
  assetferry enrich review --review clarity --yes`,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return askFor(ctx, f, o, enrich.Request{Kind: enrichment.KindReview, Review: o.review, Assets: args})
		}),
	}
	flags := c.Flags()
	o.addFlags(flags)
	flags.StringVar(&o.review, "review", "correctness", "kind of `review`: correctness, clarity, readability, make-shorter or another review of the service")
	return c
}

func newTranslateCommand(f *command.Factory) *cobra.Command {
	var o askingOptions
	var to languageOrDestination
	c := &cobra.Command{
		Use:   "translate --to LANGUAGE [ASSET...]",
		Short: "Request translations of existing descriptions",
		Long: `Translate sends existing descriptions to the AI content service, several per
request. It stores the translations as proposals. Images are not sent. Accepted
translations are written to a custom attribute, such as description_de for
German. --into names another attribute. --into description replaces the
description.

In this command, --to names a language or a destination, and can be given twice.
--language always names a language.
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
	flags.Var(&to, "to", "target `language`, or a destination")
	flags.StringVar(&o.language, "language", "", "target `language`")
	flags.StringVar(&o.into, "into", "", "write translations to this `target`: description or a custom attribute (default description_LANGUAGE)")
	return c
}

func languageOnce(cmd *cobra.Command, one, other string) error {
	switch {
	case one == "" && other == "":
		return exit.Usage(errors.New("the target language is missing"), "add it, for example --to de")
	case one != "" && other != "":
		return exit.Usage(errors.New("--language and --to both name a language"), "use only one of them")
	}
	return nil
}

// askFor shows the selection and the estimate, asks for confirmation, and requests proposals.
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
	if err := auditFirst(ctx, f, e, r); err != nil {
		return err
	}
	plan, err := e.Plan(ctx, r)
	if err != nil {
		return err
	}
	if err := showSelection(ctx, f, e, r, plan, o.dryRun); err != nil {
		return err
	}
	if o.dryRun {
		f.Out.Notef("Nothing was sent (dry run).")
		if plan.Assets > 0 {
			printRepeat(f)
		}
		return nil
	}
	if plan.Assets > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Send this to %s?", e.service.Host()))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("not confirmed: nothing was sent"), "answer y, or add --yes")
		}
	}
	return workOn(ctx, f, began, "enrich "+string(r.Kind), e, func(ctx context.Context) (enrich.Result, error) { return e.Ask(ctx, r) })
}

// checkAsking checks the options before it opens anything.
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
	case r.Kind == enrichment.KindDescribe && o.confirmTimeout <= 0:
		return exit.Usage(errors.New("--confirm-timeout must be more than 0"), "omit the flag for the default; a shorter timeout can mean that an image is billed twice")
	case o.limit < 0:
		return exit.Usage(errors.New("--limit must not be negative"), "omit the flag for no limit")
	case !o.dryRun && !o.yes && !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("this command needs confirmation"), "in a script, check with --dry-run, then add --yes")
	}
	return nil
}

// openService opens the AI content service and selects the model.
func openService(ctx context.Context, f *command.Factory, e *enrichSession, o askingOptions, r *enrich.Request) (err error) {
	var contexts []ai.Context
	if e.service, r.Contexts, contexts, err = f.OpenAIWithContexts(ctx); err != nil {
		return err
	}
	f.Out.Notef("AI service   %s", e.service)
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
	d.ConfirmTimeout = o.confirmTimeout
	e.Engine = enrich.New(d)
	return nil
}

// printRemoval prints the date when the service removes the model.
func printRemoval(f *command.Factory, m ai.Model) {
	if !m.Removal.IsZero() {
		f.Out.Notef("The service removes the model %s on %s. To use another one: --ai-model", ui.Sanitize(m.ID), m.Removal.Format(time.DateOnly))
	}
}

// auditFirst repeats the audit: assets may have been added, changed or moved, and folders decide
// which assets are excluded.
func auditFirst(ctx context.Context, f *command.Factory, e *enrichSession, r enrich.Request) error {
	wanted := ""
	if slices.Contains(r.Findings, enrich.FindingLanguage) {
		wanted = r.Language
	}
	defer f.Out.Progress().EndPhase()
	return e.Audit(ctx, wanted)
}

// showSelection prints the size of a request and the excluded assets. A dry run lists each
// asset.
func showSelection(ctx context.Context, f *command.Factory, e *enrichSession, r enrich.Request, plan enrich.Estimate, isDryRun bool) error {
	if isDryRun || f.Out.Verbose() {
		if err := listSelection(f, e.Candidates(ctx, r)); err != nil {
			return err
		}
	}
	line := event.Estimate{Service: plan.Host, Kind: string(r.Kind), Assets: plan.Assets, Requests: plan.Calls, Credits: plan.Credits, Seconds: event.Seconds(plan.Duration), Bytes: plan.Bytes, Excluded: map[string]int64{}, Contexts: command.NamesOf(r.Contexts), OtherContexts: plan.Other}
	for reason, n := range plan.Excluded {
		line.Excluded[string(reason)] = n
	}
	f.Out.Event("estimate", line)
	for _, reason := range slices.Sorted(maps.Keys(plan.Excluded)) {
		f.Out.Printf("Excluded: %s, %s", ui.Count(plan.Excluded[reason]), exclusionText(reason))
	}
	if plan.Other > 0 {
		f.Out.Printf("    %s of the existing proposals had other contexts. To replace them: --again", ui.Count(plan.Other))
	}
	word, verb := "description", "will be sent"
	if r.Kind == enrichment.KindDescribe {
		word = "image"
	}
	if isDryRun {
		verb = "would be sent"
	}
	f.Out.Printf("%s %s to %s: %s", ui.Counted(plan.Assets, word), verb, plan.Host, ui.Counted(plan.Calls, "billable request"))
	if plan.Assets > 0 {
		f.Out.Printf("    %s", costText(r.Kind, plan))
	}
	return nil
}

// costText returns the size, cost and duration of an estimate.
func costText(kind enrichment.Kind, plan enrich.Estimate) string {
	cost := "credits unknown (no earlier run)"
	if plan.Credits != nil {
		cost = "about " + command.CreditsText(*plan.Credits) + " credits (as in earlier runs)"
	}
	text := fmt.Sprintf("%s, about %s", cost, ui.Duration(plan.Duration))
	if kind == enrichment.KindDescribe {
		text = fmt.Sprintf("up to %s, %s", ui.Bytes(plan.Bytes), text)
	}
	return text
}

func listSelection(f *command.Factory, all iter.Seq2[enrich.Candidate, error]) error {
	for l, err := range all {
		if err != nil {
			return err
		}
		f.Out.Event("selection", event.Selection{AssetID: l.Asset, Path: enrich.Path(l.AuditedAsset), Selected: l.Reason == "", Reason: string(l.Reason)})
		verdict := "selected"
		if l.Reason != "" {
			verdict = "excluded, " + exclusionText(l.Reason)
		}
		f.Out.Printf("%s: %s", ui.Sanitize(enrich.Path(l.AuditedAsset)), verdict)
	}
	return nil
}

// exclusionText returns the reason of an exclusion for people.
func exclusionText(r enrich.Reason) string {
	switch r {
	case enrich.ReasonExcluded:
		return "matches --enrich-exclude"
	case enrich.ReasonCategory:
		return "category in --never-category"
	case enrich.ReasonPrivate:
		return "private category"
	case enrich.ReasonTag:
		return "tag in --never-tag"
	case enrich.ReasonDecorative:
		return "marked as decorative"
	case enrich.ReasonNotAnImage:
		return "not an image of a supported type"
	case enrich.ReasonAlreadyProposed:
		return "already proposed"
	case enrich.ReasonUnconfirmed:
		return "already sent, reply not confirmed yet"
	case enrich.ReasonRefused:
		return "refused by moderation"
	case enrich.ReasonFailed:
		return "failed permanently"
	case enrich.ReasonConflict:
		return "changed by another user after the proposal"
	}
	return string(r)
}
