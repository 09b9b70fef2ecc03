package aitest

import (
	"strings"
	"testing"

	"assetferry/internal/ai"
)

func contextLaws() []law {
	return []law{
		{"a context takes effect in all features", contextsTakeEffect},
		{"all features reject a context that does not exist", refusesUnknownContexts},
		{guess("a context can apply to a feature automatically"), contextsApply},
		{guess("a context lists its prompts and files, and can be found by them"), findsContexts},
	}
}

// sign is the word that the prompt of a context requests, and that an answer with the context
// contains.
const sign = "Zebra"

// signed creates a context with a prompt and a file.
func (s *scratch) signed(t *testing.T) (all, prompt, style ai.ContextRef) {
	t.Helper()
	admin := s.admin()
	all.ID = s.context(t, admin)
	prompt.ID, style.ID = all.ID, all.ID
	var err error
	if prompt.PromptID, err = admin.CreatePrompt(t.Context(), all.ID, ai.Prompt{Name: "sign", Prompt: `Begin every text that you write with "` + sign + `:".`}); err != nil {
		t.Fatal(err)
	}
	if style.FileID, err = admin.UploadContextFile(t.Context(), all.ID, file("a.txt", "text/plain", []byte("Animals live in Africa."))); err != nil {
		t.Fatal(err)
	}
	return all, prompt, style
}

// inEveryFamily calls use with the answer of each family, or its error.
func (s *scratch) inEveryFamily(t *testing.T, use func(family, answer string, err error), contexts ...ai.ContextRef) {
	t.Helper()
	const text, page = "A horse with black and white stripes is standing in the grass.", `<p data-id="a">A horse with black and white stripes, it standing in grass.</p>`
	answered := func(family string, read func(*ai.Stream) (string, error)) func(*ai.Stream, error) {
		return func(stream *ai.Stream, err error) {
			t.Helper()
			answer := ""
			if err == nil {
				answer, err = read(stream)
			}
			use(family, answer, err)
		}
	}
	suggested := func(stream *ai.Stream) (string, error) {
		changed, err := ai.Suggestions(stream)
		return changed["a"], err
	}
	processed := func(all []ai.Processed, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return all[0].Document, nil
	}
	streamed := func(stream *ai.Stream) (string, error) { return processed(documents(stream, 1)) }

	var items []ai.Item
	for _, ref := range contexts {
		items = append(items, ref.Item())
	}
	answered("conversations", ai.Text)(s.Send(t.Context(), s.conversation(t), ai.Message{Prompt: "What is this animal?", Model: s.model.ID, Content: append(items, ai.TextItem(text))}))
	answered("action", ai.Text)(s.Action(t.Context(), "improve-writing", text, nil, contexts...))
	answered("custom action", ai.Text)(s.CustomAction(t.Context(), ai.CustomAction{Prompt: "Make it polite.", Model: s.model.ID, Output: "plainText", Content: text, Contexts: contexts}))
	answered("review", suggested)(s.Review(t.Context(), "correctness", page, nil, contexts...))
	answered("custom review", suggested)(s.CustomReview(t.Context(), "Make it polite.", s.model.ID, page, contexts...))
	p := ai.Processing{Documents: []string{`<p>A <img src="zebra.jpg"> here.</p>`}, Prompt: "Give each img an alt.", Model: s.model.ID, Contexts: contexts}
	answer, err := processed(s.ProcessDocuments(t.Context(), p))
	use("documents", answer, err)
	answered("documents as a stream", streamed)(s.StreamDocuments(t.Context(), p))
}

func contextsTakeEffect(t *testing.T, s *scratch) {
	all, prompt, file := s.signed(t)
	for what, refs := range map[string][]ai.ContextRef{"the whole context": {all}, "its prompt and its file": {file, prompt}} {
		s.inEveryFamily(t, func(family, answer string, err error) {
			if err != nil || !strings.Contains(answer, sign) {
				t.Errorf("%s, %s: got %q, %v, want the text that the context requires", what, family, answer, err)
			}
		}, refs...)
	}
	stream, err := s.CustomAction(t.Context(), ai.CustomAction{Model: s.model.ID, Output: "plainText", Content: "A horse.", Contexts: []ai.ContextRef{prompt}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ai.Text(stream); err != nil || !strings.Contains(text, sign) {
		t.Errorf("a context instead of a prompt: got %q, %v", text, err)
	}
}

func refusesUnknownContexts(t *testing.T, s *scratch) {
	all, _, _ := s.signed(t)
	for _, ref := range []ai.ContextRef{{ID: "no-such-context"}, {ID: all.ID, PromptID: "no-such-prompt"}, {ID: all.ID, FileID: "no-such-file"}} {
		s.inEveryFamily(t, func(family, _ string, err error) { refused(t, family+" with "+ref.String(), err) }, ref)
	}
}

// contextsApply creates contexts that affect all users of the environment, so it deletes them at
// once.
func contextsApply(t *testing.T, s *scratch) {
	all, _, _ := s.signed(t)
	if _, err := s.admin().UpdateContext(t.Context(), all.ID, ai.Changes{"autoApply": ai.Features()}); err != nil {
		t.Fatal(err)
	}
	s.inEveryFamily(t, func(family, answer string, err error) {
		if err != nil || !strings.Contains(answer, sign) {
			t.Errorf("%s: got %q, %v, want the text that the context requires", family, answer, err)
		}
	})
}

func findsContexts(t *testing.T, s *scratch) {
	all, prompt, file := s.signed(t)
	found, err := s.FindContexts(t.Context(), []ai.ContextRef{file, all, prompt})
	if err != nil || len(found) != 3 || found[0].ID != all.ID || found[1].ID != all.ID || found[2].Prompts[0].ID != prompt.PromptID || found[0].Files[0].ID != file.FileID {
		t.Errorf("got %+v, %v", found, err)
	}
	for _, ref := range []ai.ContextRef{{ID: "no-such-context"}, {ID: all.ID, PromptID: "no-such-prompt"}, {ID: all.ID, FileID: "no-such-file"}} {
		_, err := s.FindContexts(t.Context(), []ai.ContextRef{all, ref})
		is(t, ref.String(), err, ai.ErrContext)
	}
}
