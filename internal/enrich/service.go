package enrich

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/retry"
)

// conversationGroup is the group of all conversations that assetferry creates.
const conversationGroup = "assetferry"

// Over returns a Service that uses a client of the AI content service.
func Over(c *ai.Client) Service { return client{c} }

type client struct{ *ai.Client }

func (c client) Converse(ctx context.Context, id string) error {
	_, err := c.CreateConversation(ctx, ai.NewConversation{ID: id, Group: conversationGroup})
	return err
}

func (c client) Attach(ctx context.Context, conversation string, p Attachment) (string, error) {
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.Data)), nil }
	file, err := c.UploadFile(ctx, conversation, ai.File{Name: p.Name, Type: p.Type, Size: int64(len(p.Data)), Body: body})
	return file, classified(err)
}

func (c client) Ask(ctx context.Context, conversation string, q Question) (string, error) {
	m := ai.Message{Prompt: q.Prompt, Model: q.Model, InputTokens: ai.EstimateTokens(q.Prompt, q.Pixels)}
	for _, file := range q.Files {
		m.Content = append(m.Content, ai.FileItem(file))
	}
	for _, ref := range q.Contexts {
		m.Content = append(m.Content, ref.Item())
	}
	reply, err := answered(ai.Text)(c.Send(ctx, conversation, m))
	return reply, classified(err)
}

func (c client) Exchange(ctx context.Context, conversation string) (said Exchange, err error) {
	for m, err := range c.Messages(ctx, conversation) {
		switch {
		case err != nil:
			return said, err
		case m.Role == "user":
			said.Questions++
			said.Reply = ""
		case m.Role == "assistant":
			said.Reply = m.Text()
		}
	}
	return said, nil
}

func (c client) Forget(ctx context.Context, conversation string) error {
	return c.DeleteConversation(ctx, conversation)
}

func (c client) Review(ctx context.Context, review, html string, contexts []ai.ContextRef) (map[string]string, error) {
	changed, err := answered(ai.Suggestions)(c.Client.Review(ctx, review, html, nil, contexts...))
	return changed, endingRun(err)
}

func (c client) Translate(ctx context.Context, html, language string, contexts []ai.ContextRef) (string, error) {
	translated, err := answered(ai.Text)(c.Action(ctx, "translate", html, map[string]string{"language": language}, contexts...))
	return translated, endingRun(err)
}

func (c client) Credits(ctx context.Context, since time.Time) (float64, error) {
	used, err := c.Usage(ctx, since, time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return used.Credits, err
}

// answered reads a complete answer. A started answer may be billed even if it fails.
func answered[T any](read func(*ai.Stream) (T, error)) func(*ai.Stream, error) (T, error) {
	return func(s *ai.Stream, err error) (answer T, _ error) {
		if err != nil {
			if errors.Is(err, ai.ErrMayBeBilled) {
				return answer, fmt.Errorf("%w: %w", ErrAsked, err)
			}
			return answer, err
		}
		answer, err = read(s)
		_, given := errors.AsType[*ai.StreamError](err)
		switch {
		case err == nil:
			return answer, nil
		case given || errors.Is(err, ai.ErrEmpty):
			return answer, fmt.Errorf("%w, and %w: %w", ErrAsked, ErrNoReply, err)
		}
		return answer, fmt.Errorf("%w: %w", ErrAsked, err)
	}
}

// endingRun makes an error that affects all assets end the run, such as an unknown review.
func endingRun(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &classedError{err, retry.Fatal}
	}
	return err
}

// classified changes the class of errors in conversations. A missing model or context affects
// all assets. A conversation that is missing or in use affects one asset: another conversation
// replaces it.
func classified(err error) error {
	switch {
	case errors.Is(err, ai.ErrModel), errors.Is(err, ai.ErrContext):
		return &classedError{err, retry.Fatal}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ai.ErrConversationInUse):
		return &classedError{err, retry.Transient}
	}
	return err
}

// A classedError replaces the class of an error.
type classedError struct {
	error
	class retry.Class
}

func (e *classedError) Unwrap() error      { return e.error }
func (e *classedError) Class() retry.Class { return e.class }
