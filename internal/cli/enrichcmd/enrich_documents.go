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
	processing  ai.Processing // with the options that these are
}

func newDocumentsCommand(f *command.Factory) *cobra.Command {
	var o documentsOptions
	c := &cobra.Command{
		Use:   "documents PATH...",
		Short: "Write missing alt texts in HTML pages",
		Long: `Documents sends complete HTML pages to the AI content service and writes
PAGE.enriched.html beside each page. Only the missing alt texts differ from the
original. Images with an alt text keep it, even an empty one. An answer with any
other change is refused. PATH is a page or a folder; links are not followed.

The service downloads images by their URLs, if it can reach them. --embed-images
sends image files below the folder of the page, made smaller.

--option passes further options of Document Processing, without a check of their
names. Headers and other credentials must be in a file (NAME=@FILE) or a
variable (NAME=env:VARIABLE), and are never printed.

A second run skips pages that did not change. A small manifest beside each
result records its changes; --summaries collects them.
`,
		Example: `  assetferry enrich documents site --dry-run
  assetferry enrich documents site --embed-images --language de --yes
  assetferry enrich documents site --yes --option extraHttpHeaders=@headers.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error { return documents(ctx, f, args, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.Language, "language", "", "`language` of the texts (default: that of the page)")
	flags.StringVar(&o.Suffix, "suffix", ".enriched", "`text` before the file extension of a result")
	flags.BoolVar(&o.Embed, "embed-images", false, "send image files below the folder of the page")
	flags.BoolVar(&o.Again, "again", false, "also process pages that have a result")
	flags.StringVar(&o.summaries, "summaries", "", "write the changes of each page to this `file`, as JSON Lines")
	flags.StringArrayVar(&o.options, "option", nil, "`NAME=JSON`: pass this option; or NAME=@FILE, NAME=env:VARIABLE (repeatable)")
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the data to send and the cost, and stop")
	flags.BoolVar(&o.yes, "yes", false, "send without a question")
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
		return exit.Usage(errors.New("it asks before it sends anything, and nobody is here to answer"), "look with --dry-run, then add --yes")
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
	f.Out.Notef("Sends to     %s", s)
	f.NoteContexts(contexts, found)
	showPages(f, s, plan, o.dryRun)
	if o.dryRun {
		f.Out.Notef("Nothing was sent: this was a dry run.")
		return nil
	}
	if plan.Calls > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Send this to %s?", s.Host()))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("not sent: nobody said yes"), "--yes answers the question")
		}
	}
	return workOnPages(ctx, f, s, plan, o, began)
}

// showPages says what would leave and what is left alone. A dry run names each page.
func showPages(f *command.Factory, s *command.AIService, plan altpages.Plan, list bool) {
	if list || f.Out.Verbose() {
		for _, p := range plan.Pages {
			f.Out.Printf("%s: %s without alternative text, %s leave", ui.Sanitize(p.Path), ui.Counted(int64(p.Images), "image"), ui.Bytes(p.Bytes))
			for _, e := range p.Embedded {
				f.Out.Printf("    with %s", ui.Sanitize(e.File))
			}
			f.Out.Event("page", event.Page{File: p.Path, State: "planned", Images: p.Images})
		}
	}
	f.Out.Printf("To %s would leave: %s with %s without an alternative text, %s, in %s", s.Host(), ui.Counted(int64(len(plan.Pages)), "page"),
		ui.Counted(int64(plan.Images), "image"), ui.Bytes(plan.Bytes), ui.Counted(int64(plan.Calls), "billed call"))
	if plan.Complete > 0 {
		f.Out.Printf("Left alone: %s without such an image", ui.Counted(int64(plan.Complete), "page"))
	}
	if len(plan.Ready) > 0 {
		f.Out.Printf("Left alone: %s whose result is there", ui.Counted(int64(len(plan.Ready)), "page"))
	}
	if plan.Other > 0 {
		f.Out.Printf("    %s of those sent before had other contexts; --again sends them again", ui.Count(int64(plan.Other)))
	}
	for _, skipped := range plan.Skipped {
		f.Out.Printf("Left alone: %s: %s", ui.Sanitize(skipped.Path), skipped.Why)
	}
}

// workOnPages sends the pages of a plan and tells of each.
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
	for state, n := range map[string]int{"written": sum.Written, "refused": sum.Refused, "waiting": sum.Waiting} {
		if n > 0 {
			f.Summary.States[state] = int64(n)
		}
	}
	f.Out.Printf("%s written, with %s; %s refused; %s.", ui.Counted(int64(sum.Written), "page"), ui.Counted(int64(sum.Alts), "new alternative text"),
		ui.Count(int64(sum.Refused)), ui.Counted(int64(sum.Calls), "billed call"))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, retry.ErrDraining):
		return f.WhyStopped()
	case err != nil:
		return err
	case sum.Waiting > 0:
		return f.WhyStopped()
	case sum.Refused > 0:
		f.Out.Notef("Try: run the same command again: what is written already is not sent again")
		return exit.Said(exit.CodeItems)
	}
	return nil
}

func printPage(f *command.Factory, r altpages.Result) {
	f.Out.Progress().Add(1, 0)
	line := event.Page{File: r.Page.Path, State: "written", Images: r.Page.Images, Described: len(r.Added), Output: r.Page.Result, Summary: r.Summary}
	if r.Refused != nil {
		line.State, line.Error, line.Output = "refused", r.Refused.Error(), ""
		f.Out.Notef("%s: nothing was written: %v", ui.Sanitize(r.Page.Path), r.Refused)
	} else {
		f.Out.Printf("%s: %s", ui.Sanitize(r.Page.Result), ui.Counted(int64(len(r.Added)), "new alternative text"))
		for _, added := range r.Added {
			f.Out.Printf("    %s:%s", ui.Sanitize(added.Source), quoted(added.Text))
		}
	}
	f.Out.Event("page", line)
}

// A pageService has a model process pages.
type pageService struct {
	client     *ai.Client
	processing ai.Processing // but for documents and prompt
}

// Process carries out a prompt on documents.
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
