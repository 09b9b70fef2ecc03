package aicmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/ai"
	"assetferry/internal/anchor"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

type customOptions struct{ prompt, format string }

func (o *customOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.prompt, "prompt", "", "instruction, `text` or @FILE; optional with --ai-context")
	cmdline.Setting(c.Flags(), "ai-model", "`ID` of the model (default: recommended by the service)")
	command.AddContextFlag(c.Flags())
}

func newActionCommand(f *command.Factory) *cobra.Command {
	var o customOptions
	c := &cobra.Command{
		Use:   "action FILE",
		Short: "Rewrite a text with an instruction",
		Long: `Action sends text or HTML with your instruction (a custom action of the service)
and shows the result. A context with a prompt can replace the instruction. Each
request costs credits. FILE does not change. If FILE is -, action reads stdin.
`,
		Example: `  assetferry ai action site/index.html --prompt 'Use plain words.' --format html
  assetferry ai action - --ai-context house-style <alt.txt`,
		Args: cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			output, ok := map[string]string{"text": "plainText", "html": "html"}[o.format]
			if !ok {
				return exit.Usage(fmt.Errorf("--format: unknown format %q", o.format), "text or html")
			}
			return custom(ctx, f, args[0], o, func(s *command.AIService, content string, act ai.CustomAction) error {
				act.Content, act.Output = content, output
				answer, err := s.Client.CustomAction(ctx, act)
				if err != nil {
					return err
				}
				return showAnswer(f, answer, true)
			})
		}),
	}
	c.Flags().StringVar(&o.format, "format", "text", "`format` of the result: text or html")
	o.addFlags(c)
	return c
}

func newReviewCommand(f *command.Factory) *cobra.Command {
	var o customOptions
	c := &cobra.Command{
		Use:   "review FILE",
		Short: "Review a text with an instruction",
		Long: `Review sends text or HTML with your instruction (a custom review of the service)
and shows the suggested changes. A context with a prompt can replace the
instruction. Existing data-id attributes identify the elements of HTML. Without
them, top-level elements get numbers. The paragraphs of plain text also get
numbers. Each request costs credits. FILE does not change. If FILE is -, review
reads stdin.
`,
		Example: `  assetferry ai review alt.txt --prompt 'Use the official product names.'`,
		Args:    cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return custom(ctx, f, args[0], o, func(s *command.AIService, content string, act ai.CustomAction) error {
				elements, err := anchor.Elements(content)
				if err != nil {
					return exit.Usage(fmt.Errorf("%s: %w", args[0], err), "use a page or a text that is not empty")
				}
				answer, err := s.Client.CustomReview(ctx, act.Prompt, act.Model, elements, act.Contexts...)
				if err != nil {
					return err
				}
				changed, err := ai.Suggestions(answer)
				if err != nil {
					return err
				}
				showSuggestions(f, changed)
				return nil
			})
		}),
	}
	o.addFlags(c)
	return c
}

// custom reads the content and the instruction, opens the service, and sends the request.
func custom(ctx context.Context, f *command.Factory, file string, o customOptions, call func(*command.AIService, string, ai.CustomAction) error) error {
	prompt, err := textOrFile(o.prompt)
	if err != nil {
		return exit.Usage(fmt.Errorf("--prompt: %w", err), "put the name of a text file after @")
	}
	if strings.TrimSpace(prompt) == "" && len(f.Settings.AIContexts) == 0 {
		return exit.Usage(errors.New("the instruction is missing"), "add --prompt TEXT, or --ai-context ID for a context with a prompt")
	}
	content, err := content(f, file)
	if err != nil {
		return exit.Usage(err, "use a text file, or - for stdin")
	}
	s, model, contexts, err := f.OpenToAsk(ctx)
	if err != nil {
		return err
	}
	return call(s, content, ai.CustomAction{Prompt: prompt, Model: model.ID, Contexts: contexts})
}

// content reads the text for an action or a review.
func content(f *command.Factory, file string) (string, error) {
	if file == "-" {
		return readText(f.Stdin, "stdin")
	}
	files, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer files.Close()
	return readText(files, file)
}

// showSuggestions prints the suggested elements of a review.
func showSuggestions(f *command.Factory, changed map[string]string) {
	for _, id := range slices.SortedFunc(maps.Keys(changed), byNumber) {
		f.Out.Printf("%s: %s", ui.Sanitize(id), ui.Sanitize(changed[id]))
		f.Out.Event("suggestion", event.Suggestion{Element: id, Text: changed[id]})
	}
	f.Out.Notef("%s", ui.Counted(int64(len(changed)), "suggestion"))
}

// byNumber sorts numbers by value, before other IDs.
func byNumber(one, other string) int {
	m, err := strconv.Atoi(one)
	n, otherErr := strconv.Atoi(other)
	switch {
	case err == nil && otherErr == nil:
		return m - n
	case err == nil:
		return -1
	case otherErr == nil:
		return 1
	}
	return strings.Compare(one, other)
}
