package enrichcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/ai"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/enrich"
	"assetferry/internal/enrich/altpages"
	"assetferry/internal/event"
	"assetferry/internal/retry"
	"assetferry/internal/ui"
)

type documentsOptions struct {
	altpages.Options
	dryRun, yes bool
	summaries   string
	options     []string
	processing  ai.Processing // parsed from options
}

func newDocumentsCommand(f *command.Factory) *cobra.Command {
	var o documentsOptions
	c := &cobra.Command{
		Use:   "documents PATH...",
		Short: "Write missing alt texts in HTML pages",
		Long: `Documents sends complete HTML pages to the AI content service. It writes
PAGE.enriched.html beside each page, with the missing alt texts and no other
change. Images with an alt attribute keep it, even if it is empty. An answer
with any other change is refused, and the page is listed. PATH is a page or a
folder of pages. Symbolic links are not followed.

The service loads images from their URLs, if it can reach them. --embed-images
also sends reduced copies of images below the folder of the page.

--option passes other options of Document Processing to the service, such as
capabilities or HTTP headers for loading images. The names are not checked: see
the documentation of the service. Headers and other credentials must be in a
file (NAME=@FILE) or a variable (NAME=env:VARIABLE). They are never printed.

Without --again, a page with a result is sent again only after it changes. A
JSON file beside each result lists the changes. --summaries writes all changes
to one file.
`,
		Example: `  assetferry enrich documents site --dry-run
  assetferry enrich documents site --embed-images --language de --yes
  assetferry enrich documents site --yes --option extraHttpHeaders=@headers.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error { return documents(ctx, f, args, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.Language, "language", "", "`language` of the texts (default: the language of each page)")
	flags.StringVar(&o.Suffix, "suffix", ".enriched", "insert this `suffix` before the extension of a result")
	flags.BoolVar(&o.Embed, "embed-images", false, "also send images below the folder of the page")
	flags.BoolVar(&o.Again, "again", false, "also send pages that have a result")
	flags.StringVar(&o.summaries, "summaries", "", "write the changes in each page to this `file`, as JSON Lines")
	flags.StringArrayVar(&o.options, "option", nil, "pass this `NAME=JSON`, NAME=@FILE or NAME=env:VARIABLE to the service (repeatable)")
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the pages and the estimate, and send nothing")
	flags.BoolVar(&o.yes, "yes", false, "send without confirmation")
	cmdline.Setting(flags, "ai-model", "`ID` of the model (default: recommended by the service)")
	command.AddWindowFlags(flags)
	command.AddContextFlag(flags)
	command.AddAIFlags(flags)
	return c
}

func documents(ctx context.Context, f *command.Factory, paths []string, o documentsOptions) error {
	began := time.Now()
	switch {
	case !o.dryRun && !o.yes && !ui.IsTerminal(f.Stdin):
		return exit.Usage(errors.New("enrich documents needs confirmation"), "in a script, check with --dry-run, then add --yes")
	case enrich.CheckLanguage(o.Language) != nil:
		return exit.Usage(enrich.CheckLanguage(o.Language), "")
	}
	var err error
	if o.processing, err = processingOptions(f, o.options); err != nil {
		return err
	}
	sumUpEnrich(f)
	s, contexts, found, err := f.OpenAIWithContexts(ctx)
	if err != nil {
		return err
	}
	o.Contexts, o.processing.Contexts = command.NamesOf(contexts), contexts
	plan, err := altpages.Look(ctx, paths, o.Options)
	if err != nil {
		return err
	}
	f.Out.Notef("AI service   %s", s)
	f.NoteContexts(contexts, found)
	showPages(f, s, plan, o.dryRun)
	if o.dryRun {
		f.Out.Notef("Nothing was sent (dry run).")
		if len(plan.Pages) > 0 {
			printRepeat(f)
		}
		return nil
	}
	if plan.Calls > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Send this to %s?", s.Host()))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("not confirmed: nothing was sent"), "answer y, or add --yes")
		}
	}
	return workOnPages(ctx, f, s, plan, o, began)
}

// showPages prints the pages to send and the pages that are excluded. A dry run lists each page.
func showPages(f *command.Factory, s *command.AIService, plan altpages.Plan, isDryRun bool) {
	if isDryRun || f.Out.Verbose() {
		for _, p := range plan.Pages {
			f.Out.Printf("%s: %s without alternative text, %s to send", ui.Sanitize(p.Path), ui.Counted(int64(p.Images), "image"), ui.Bytes(p.Bytes))
			for _, e := range p.Embedded {
				f.Out.Printf("    with %s", ui.Sanitize(e.File))
			}
			f.Out.Event("page", event.Page{File: p.Path, State: "planned", Images: p.Images})
		}
	}
	if plan.Complete > 0 {
		f.Out.Printf("Excluded: %s, no alternative text is missing", ui.Counted(int64(plan.Complete), "page"))
	}
	if len(plan.Ready) > 0 {
		f.Out.Printf("Excluded: %s, result exists", ui.Counted(int64(len(plan.Ready)), "page"))
	}
	if plan.Other > 0 {
		f.Out.Printf("    %s of the results had other contexts. To send the pages again: --again", ui.Count(int64(plan.Other)))
	}
	for _, skipped := range plan.Skipped {
		f.Out.Printf("Excluded: %s: %s", ui.Sanitize(skipped.Path), skipped.Why)
	}
	verb := "will be sent"
	if isDryRun {
		verb = "would be sent"
	}
	f.Out.Printf("%s with %s without alternative text %s to %s: %s, %s", ui.Counted(int64(len(plan.Pages)), "page"), ui.Counted(int64(plan.Images), "image"),
		verb, s.Host(), ui.Counted(int64(plan.Calls), "billable request"), ui.Bytes(plan.Bytes))
}

// workOnPages sends the pages of a plan and reports each result.
func workOnPages(ctx context.Context, f *command.Factory, s *command.AIService, plan altpages.Plan, o documentsOptions, began time.Time) error {
	var processor altpages.Service
	if plan.Calls > 0 {
		m, err := f.ChooseModel(ctx, s)
		if err != nil {
			return err
		}
		f.Out.Notef("Model        %s", ui.Sanitize(m.ID))
		o.processing.Model = m.ID
		processor = &pageService{s.Client, o.processing}
	}
	defer f.StartWindow()()
	f.Out.Progress().StartPhase("documents", int64(len(plan.Pages)), -1)
	f.Draining.Store(true)
	sum, err := altpages.Run(retry.WithDrain(ctx, f.Stop), plan, processor, o.Options, func(r altpages.Result) { printPage(f, r) })
	f.Draining.Store(false)
	f.Out.Progress().EndPhase()
	if o.summaries != "" {
		err = errors.Join(err, altpages.WriteSummaries(o.summaries, plan, o.Options))
	}
	f.Summary.Seconds, f.Summary.BilledRequests = event.Seconds(time.Since(began)), int64(sum.Calls)
	for state, n := range map[string]int{"written": sum.Written, "refused": sum.Refused, "unfinished": sum.Unfinished} {
		if n > 0 {
			f.Summary.States[state] = int64(n)
		}
	}
	f.Out.Printf("%s written with %s, %s refused, %s.", ui.Counted(int64(sum.Written), "page"), ui.Counted(int64(sum.Alts), "new alternative text"),
		ui.Count(int64(sum.Refused)), ui.Counted(int64(sum.Calls), "billed request"))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, retry.ErrDraining):
		return f.WhyStopped()
	case err != nil:
		return err
	case sum.Unfinished > 0:
		return f.WhyStopped()
	case sum.Refused > 0:
		printRepeat(f)
		return exit.Said(exit.CodeItems)
	}
	return nil
}

func printPage(f *command.Factory, r altpages.Result) {
	f.Out.Progress().Add(1, 0)
	line := event.Page{File: r.Page.Path, State: "written", Images: r.Page.Images, Described: len(r.Added), Output: r.Page.Result, Summary: r.Summary}
	if r.Refused != nil {
		line.State, line.Error, line.Output = "refused", r.Refused.Error(), ""
		f.Out.Notef("%s: refused: %v", ui.Sanitize(r.Page.Path), r.Refused)
	} else {
		f.Out.Printf("%s: %s", ui.Sanitize(r.Page.Result), ui.Counted(int64(len(r.Added)), "new alternative text"))
		for _, added := range r.Added {
			f.Out.Printf("    %s:%s", ui.Sanitize(added.Source), quoted(added.Text))
		}
	}
	f.Out.Event("page", line)
}

// A pageService processes pages with a model.
type pageService struct {
	client     *ai.Client
	processing ai.Processing // without documents and prompt
}

// Process applies a prompt to documents.
func (s *pageService) Process(ctx context.Context, documents []string, prompt string) ([]altpages.Processed, error) {
	p := s.processing
	p.Documents, p.Prompt = documents, prompt
	answers, err := s.client.ProcessDocuments(ctx, p)
	all := make([]altpages.Processed, len(answers))
	for n, p := range answers {
		all[n] = altpages.Processed{Document: p.Document, Summary: p.Summary}
	}
	return all, err
}
