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
	c.Flags().StringVar(&o.prompt, "prompt", "", "the instruction, as a `text` or @FILE; may be left out with --ai-context")
	cmdline.Setting(c.Flags(), "ai-model", "`ID` of the model (default: the one that the service recommends)")
	command.AddContextFlag(c.Flags())
}

func newActionCommand(f *command.Factory) *cobra.Command {
	var o customOptions
	c := &cobra.Command{
		Use:   "action FILE",
		Short: "Have a text rewritten by an instruction",
		Long: `Action sends a text or HTML with an instruction of your own, which the service
calls a custom action, and shows what comes back. A context that holds a prompt
can take the place of the instruction. Each call costs credits. FILE - is read
from stdin, and stays as it is.
`,
		Example: `  assetferry ai action site/index.html --prompt 'Use plain words.' --format html
  assetferry ai action - --ai-context house-style <alt.txt`,
		Args: cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			output, ok := map[string]string{"text": "plainText", "html": "html"}[o.format]
			if !ok {
				return exit.Usage(fmt.Errorf("--format %q is not a format", o.format), "text or html")
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
	c.Flags().StringVar(&o.format, "format", "text", "the `format` of the answer: text or html")
	o.addFlags(c)
	return c
}

func newReviewCommand(f *command.Factory) *cobra.Command {
	var o customOptions
	c := &cobra.Command{
		Use:   "review FILE",
		Short: "Have a text reviewed by an instruction",
		Long: `Review sends a text or HTML with an instruction of your own, which the service
calls a custom review, and shows the elements that it would change. A context
that holds a prompt can take the place of the instruction. Elements of HTML keep
the data-id that they have; where none has one, each element at the top gets a
number, and so does each paragraph of a plain text. Each call costs credits.
FILE - is read from stdin, and stays as it is.
`,
		Example: `  assetferry ai review alt.txt --prompt 'Name products as we do.'`,
		Args:    cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return custom(ctx, f, args[0], o, func(s *command.AIService, content string, act ai.CustomAction) error {
				elements, err := anchor.Elements(content)
				if err != nil {
					return exit.Usage(fmt.Errorf("%s: %w", args[0], err), "give a page, or a text, that has something to review")
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

// custom reads the content and the instruction, opens the service, and makes the call.
func custom(ctx context.Context, f *command.Factory, file string, o customOptions, call func(*command.AIService, string, ai.CustomAction) error) error {
	prompt, err := textOrFile(o.prompt)
	if err != nil {
		return exit.Usage(fmt.Errorf("--prompt: %w", err), "name a file with the text behind @")
	}
	if strings.TrimSpace(prompt) == "" && len(f.Settings.AIContexts) == 0 {
		return exit.Usage(errors.New("there is no instruction"), "--prompt TEXT, or --ai-context ID of a context that holds one")
	}
	content, err := content(f, file)
	if err != nil {
		return exit.Usage(err, "name a file that has a text in it, or - for stdin")
	}
	s, model, contexts, err := f.OpenToAsk(ctx)
	if err != nil {
		return err
	}
	return call(s, content, ai.CustomAction{Prompt: prompt, Model: model.ID, Contexts: contexts})
}

// content reads what an action or a review is about.
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

// showSuggestions shows the elements that a review would change, as it would have them.
func showSuggestions(f *command.Factory, changed map[string]string) {
	for _, id := range slices.SortedFunc(maps.Keys(changed), byNumber) {
		f.Out.Printf("%s: %s", ui.Sanitize(id), ui.Sanitize(changed[id]))
		f.Out.Event("suggestion", event.Suggestion{Element: id, Text: changed[id]})
	}
	f.Out.Notef("%s", ui.Counted(int64(len(changed)), "suggestion"))
}

// byNumber puts 10 behind 9, and what is no number behind both.
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
