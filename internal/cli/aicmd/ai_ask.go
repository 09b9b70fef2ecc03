package aicmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/ai"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

// forgetTime limits the deletion of a conversation at the end.
const forgetTime = 10 * time.Second

type askOptions struct {
	files     []string
	web       []string
	search    bool
	reasoning bool
	keep      bool
}

func newAskCommand(f *command.Factory) *cobra.Command {
	var o askOptions
	c := &cobra.Command{
		Use:   "ask PROMPT",
		Short: "Send a prompt with files, and show the answer",
		Long: `Ask creates a conversation, sends a prompt with files and pages, shows the
answer, and deletes the conversation. Each request costs credits. If PROMPT is
-, ask reads stdin.
`,
		Example: `  assetferry ai ask --file photo.jpg 'Describe this image.'`,
		Args:    cmdline.One("PROMPT"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			prompt, err := prompt(f, args[0])
			if err != nil {
				return err
			}
			return ask(ctx, f, prompt, o)
		}),
	}
	flags := c.Flags()
	flags.StringArrayVar(&o.files, "file", nil, "attach this `file` (repeatable): PDF, DOCX, PNG, JPEG, Markdown, HTML or plain text")
	flags.StringArrayVar(&o.web, "page", nil, "attach the web page at this `URL` (repeatable)")
	flags.BoolVar(&o.search, "web-search", false, "allow web search")
	flags.BoolVar(&o.reasoning, "reasoning", false, "allow more time for reasoning")
	flags.BoolVar(&o.keep, "keep", false, "keep the conversation, and show its ID")
	cmdline.Setting(flags, "ai-model", "`ID` of the model (default: recommended by the service)")
	command.AddContextFlag(flags)
	return c
}

func prompt(f *command.Factory, given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f.Stdin, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the prompt from stdin: %w", err)
	case len(text) > most:
		return "", exit.Usage(errors.New("the prompt on stdin is longer than 1 MB"), "attach it as a file with --file")
	case strings.TrimSpace(string(text)) == "":
		return "", exit.Usage(errors.New("the prompt is empty"), "")
	}
	return string(text), nil
}

func ask(ctx context.Context, f *command.Factory, prompt string, o askOptions) (err error) {
	for _, name := range o.files {
		if _, err := os.Stat(name); err != nil {
			return exit.Usage(fmt.Errorf("--file: %w", err), "")
		}
	}
	s, model, contexts, err := f.OpenToAsk(ctx)
	if err != nil {
		return err
	}
	id := "assetferry-" + strings.ToLower(rand.Text()[:16])
	if !o.keep { // it may exist even without an answer
		defer func() {
			if left := forget(ctx, s, id); err == nil { // otherwise report the first error
				err = left
			}
		}()
	}
	if _, err := s.Client.CreateConversation(ctx, ai.NewConversation{ID: id, Group: "assetferry"}); err != nil {
		return err
	}
	if o.keep {
		f.Out.Notef("Conversation %s", id)
	}
	message := ai.Message{Prompt: prompt, Model: model.ID, WebSearch: o.search, Reasoning: o.reasoning}
	if message.Content, err = attach(ctx, s, id, o); err != nil {
		return err
	}
	for _, ref := range contexts {
		message.Content = append(message.Content, ref.Item())
	}
	answer, err := s.Client.Send(ctx, id, message)
	if err != nil {
		return err
	}
	return showAnswer(f, answer, false)
}

// forget deletes a conversation, even after an interrupt.
func forget(ctx context.Context, s *command.AIService, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	return s.Client.DeleteConversation(ctx, id)
}

// attach uploads files and pages to a conversation and returns references to them.
func attach(ctx context.Context, s *command.AIService, conversation string, o askOptions) (items []ai.Item, err error) {
	for _, name := range o.files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--file: %w", err), "")
		}
		id, err := s.Client.UploadFile(ctx, conversation, ai.File{
			Name: filepath.Base(name), Size: info.Size(),
			Body: func() (io.ReadCloser, error) { return os.Open(name) },
		})
		if err != nil {
			return nil, err
		}
		items = append(items, ai.FileItem(id))
	}
	for _, page := range o.web {
		id, err := s.Client.AddWebResource(ctx, conversation, ai.WebResource{URL: page})
		if err != nil {
			return nil, err
		}
		items = append(items, ai.WebResourceItem(id))
	}
	return items, nil
}

// showAnswer prints an answer while it arrives, or as one JSON object. It includes modifications of
// the sent text, but not of a document in a conversation.
func showAnswer(f *command.Factory, answer *ai.Stream, modifications bool) error {
	defer answer.Close()
	var text strings.Builder
	line := event.Answer{Sources: []string{}}
	shown := f.Redactor.Stream()
	for {
		event, err := answer.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			f.Out.Stream(shown.End() + "\n")
			return err
		}
		switch e := event.(type) {
		case ai.TextDelta:
			text.WriteString(e.Text)
			f.Out.Stream(shown.Add(e.Text))
		case ai.ModificationDelta:
			if modifications {
				text.WriteString(e.Text)
				f.Out.Stream(shown.Add(e.Text))
			}
		case ai.Source:
			line.Sources = append(line.Sources, e.URL)
		}
	}
	if text.Len() == 0 {
		return exit.With(exit.CodeError, ai.ErrEmpty, "repeat the command, or use another model with --ai-model")
	}
	f.Out.Stream(shown.End() + "\n")
	for _, url := range line.Sources {
		f.Out.Printf("Source: %s", ui.Sanitize(url))
	}
	line.Text = text.String()
	f.Out.Event("answer", line)
	return nil
}
