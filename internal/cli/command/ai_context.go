package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/ai"
	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
)

// AddContextFlag adds the flag for contexts of billed requests.
func AddContextFlag(f *pflag.FlagSet) {
	f.StringArray("ai-context", nil, "add this `context` to requests: ID, ID/prompt/PROMPTID or ID/file/FILEID (repeatable)")
}

// contextRefs reads the contexts of the settings, without duplicates.
func (f *Factory) contextRefs() (refs []ai.ContextRef, err error) {
	for _, text := range f.Settings.AIContexts {
		ref, err := ai.ParseContextRef(text)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--ai-context: %w", err), "list the contexts with their IDs:\n  assetferry ai contexts ls")
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// OpenAIWithContexts opens the AI content service and finds the contexts of the settings: a missing
// one must end the command before anything is billed.
func (f *Factory) OpenAIWithContexts(ctx context.Context) (s *AIService, refs []ai.ContextRef, found []ai.Context, err error) {
	if refs, err = f.contextRefs(); err != nil {
		return nil, nil, nil, err
	}
	var scopes []string
	if len(refs) > 0 {
		scopes = []string{ContextScope}
	}
	if s, err = f.OpenAI(ctx, scopes...); err != nil || len(refs) == 0 {
		return s, nil, nil, err
	}
	if found, err = s.Client.FindContexts(ctx, refs); err != nil {
		return nil, nil, nil, ContextError(err)
	}
	return s, refs, found, nil
}

// ContextError adds a hint to the error of a missing context.
func ContextError(err error) error {
	switch {
	case errors.Is(err, ai.ErrContext):
		return exit.With(exit.CodeError, fmt.Errorf("--ai-context: %w", err), "list the contexts:\n  assetferry ai contexts ls")
	case errors.Is(err, fs.ErrNotExist):
		return exit.With(exit.CodeError, err, "the path of contexts is not documented: set it with --ai-route 'Contexts=GET /path'. To search for it:\n  assetferry doctor")
	}
	return err
}

// OpenToAsk opens the AI content service for a question, and shows the model and the contexts of
// the settings.
func (f *Factory) OpenToAsk(ctx context.Context) (s *AIService, model ai.Model, contexts []ai.ContextRef, err error) {
	s, contexts, found, err := f.OpenAIWithContexts(ctx)
	if err != nil {
		return nil, ai.Model{}, nil, err
	}
	if model, err = f.ChooseModel(ctx, s); err != nil {
		return nil, ai.Model{}, nil, err
	}
	f.Out.Notef("Service      %s, model %s", s, model.ID)
	f.NoteContexts(contexts, found)
	return s, model, contexts, nil
}

// NoteContexts shows the contexts.
func (f *Factory) NoteContexts(refs []ai.ContextRef, found []ai.Context) {
	if len(refs) > 0 {
		f.Out.Notef("Contexts     %s", contextsText(refs, found))
	}
}

// contextsText returns contexts for people, with their names.
func contextsText(refs []ai.ContextRef, found []ai.Context) string {
	var all []string
	for n, ref := range refs {
		all = append(all, fmt.Sprintf("%s (%s)", ui.Sanitize(ref.String()), ui.Sanitize(found[n].Name)))
	}
	return strings.Join(all, ", ")
}

// NamesOf returns contexts in the form of --ai-context.
func NamesOf(refs []ai.ContextRef) (all []string) {
	for _, ref := range refs {
		all = append(all, ref.String())
	}
	return all
}
