package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/ui"
)

// addContextFlag adds what names contexts that go along with billed calls.
func addContextFlag(f *pflag.FlagSet) {
	f.StringArray("ai-context", nil, "have the model heed this `context`, such as a house style: ID, ID/prompt/PROMPTID or ID/file/FILEID (repeatable)")
}

// contextRefs reads the contexts that the settings name, each once.
func (a *app) contextRefs() (refs []ai.ContextRef, err error) {
	for _, text := range a.settings.AIContexts {
		ref, err := ai.ParseContextRef(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--ai-context: %w", err), "assetferry ai contexts ls lists the contexts with their IDs")
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// openAIWithContexts opens the AI content service and finds the contexts that the settings name:
// one that is not there has to end a command before anything is billed.
func (a *app) openAIWithContexts(ctx context.Context) (s *aiService, refs []ai.ContextRef, found []ai.Context, err error) {
	if refs, err = a.contextRefs(); err != nil {
		return nil, nil, nil, err
	}
	var scopes []string
	if len(refs) > 0 {
		scopes = []string{contextScope}
	}
	if s, err = a.openAI(ctx, scopes...); err != nil || len(refs) == 0 {
		return s, nil, nil, err
	}
	if found, err = s.client.FindContexts(ctx, refs); err != nil {
		return nil, nil, nil, contextError(err)
	}
	return s, refs, found, nil
}

// contextError says what to do about contexts that were not found.
func contextError(err error) error {
	switch {
	case errors.Is(err, ai.ErrContext):
		return with(exitError, fmt.Errorf("--ai-context: %w", err), "assetferry ai contexts ls lists those that are there")
	case errors.Is(err, fs.ErrNotExist):
		return with(exitError, err, "where contexts are is a guess: --ai-route 'Contexts=GET /path' names another address, and assetferry doctor looks for it")
	}
	return err
}

// openToAsk opens the AI content service for a question, with the model and the contexts that the
// settings name, and says which they are.
func (a *app) openToAsk(ctx context.Context) (s *aiService, model ai.Model, contexts []ai.ContextRef, err error) {
	s, contexts, found, err := a.openAIWithContexts(ctx)
	if err != nil {
		return nil, ai.Model{}, nil, err
	}
	if model, err = a.chooseModel(ctx, s); err != nil {
		return nil, ai.Model{}, nil, err
	}
	a.out.Notef("Asks         %s, model %s", s, model.ID)
	a.noteContexts(contexts, found)
	return s, model, contexts, nil
}

// noteContexts says which contexts go along.
func (a *app) noteContexts(refs []ai.ContextRef, found []ai.Context) {
	if len(refs) > 0 {
		a.out.Notef("Contexts     %s", contextsText(refs, found))
	}
}

// contextsText names contexts as people gave them, with what they are called.
func contextsText(refs []ai.ContextRef, found []ai.Context) string {
	var all []string
	for n, ref := range refs {
		all = append(all, fmt.Sprintf("%s (%s)", ui.Sanitize(ref.String()), ui.Sanitize(found[n].Name)))
	}
	return strings.Join(all, ", ")
}

// namesOf are contexts as people give them.
func namesOf(refs []ai.ContextRef) (all []string) {
	for _, ref := range refs {
		all = append(all, ref.String())
	}
	return all
}
