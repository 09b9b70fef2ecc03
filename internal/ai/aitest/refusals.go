package aitest

import (
	"errors"
	"slices"
	"testing"

	"assetferry/internal/ai"
)

func refusalLaws() []law {
	return []law{
		{"the service reports its health", saysHealth},
		{"the error names a missing scope", namesMissingScopes},
		{"the error reports a model that the token does not allow", namesModels},
		{"a token for another environment is rejected", refusesEnvironments},
		{"a forged token is rejected", refusesForgery},
		{"an unknown model is rejected", refusesUnknownModels},
		{"a message without a prompt is rejected", refusesNothing},
		{guess("an invalid cursor is rejected"), refusesCursors},
	}
}

// saysHealth is known for services on premises. The vendor's service may reject it.
func saysHealth(t *testing.T, s *scratch) {
	if h, err := s.Health(t.Context()); err == nil && h.ServiceName == "" {
		t.Errorf("got %+v", h)
	}
}

func namesMissingScopes(t *testing.T, s *scratch) {
	poor := s.as(Caller{Permissions: []string{"ai:conversations:read"}})
	_, err := poor.CreateConversation(t.Context(), ai.NewConversation{ID: unique("conversation"), Group: s.group})
	e := refused(t, "write", err)
	if e.Status != 403 || e.Code != "missing-permissions" || len(e.MissingPermissions()) == 0 || !e.IsAuth() || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
	if got := collect(t, poor.Conversations(t.Context(), ai.ConversationFilter{Group: s.group})); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}

func namesModels(t *testing.T, s *scratch) {
	poor := s.as(Caller{Permissions: []string{"ai:conversations:*"}})
	models, err := poor.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(models, func(m ai.Model) bool { return m.Allowed }) {
		t.Errorf("a token without model permissions may use one of %+v", models)
	}
	c := s.conversation(t)
	if e := refused(t, "message", ended(poor.Send(t.Context(), c, ai.Message{Prompt: "Hello", Model: s.model.ID}))); e.Status != 403 {
		t.Errorf("got %v", e)
	}
}

func refusesEnvironments(t *testing.T, s *scratch) {
	_, err := s.as(Caller{Unknown: true}).Models(t.Context())
	if e := refused(t, "models", err); !e.IsAuth() && e.Status != 404 || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

func refusesForgery(t *testing.T, s *scratch) {
	_, err := s.as(Caller{Forged: true}).Models(t.Context())
	if e := refused(t, "models", err); e.Status != 401 || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

func refusesUnknownModels(t *testing.T, s *scratch) {
	err := ended(s.Send(t.Context(), s.conversation(t), ai.Message{Prompt: "Hello", Model: "no-such-model"}))
	if refused(t, "message", err); !errors.Is(err, ai.ErrModel) {
		t.Errorf("got %v", err)
	}
}

func refusesNothing(t *testing.T, s *scratch) {
	err := ended(s.Send(t.Context(), s.conversation(t), ai.Message{Model: s.model.ID}))
	if e := refused(t, "message", err); e.Status != 400 {
		t.Errorf("got %v", err)
	}
}

func refusesCursors(t *testing.T, s *scratch) {
	for _, err := range s.Conversations(t.Context(), ai.ConversationFilter{}, ai.Page{Cursor: "no cursor"}) {
		if e := refused(t, "listed", err); e.Status != 400 {
			t.Errorf("got %v", err)
		}
	}
}

func moderatesPrompts(t *testing.T, s *scratch) {
	err := ended(s.Send(t.Context(), s.conversation(t), ai.Message{Prompt: s.service.Flagged, Model: s.model.ID}))
	if e := refused(t, "message", err); e.Status != 422 || len(e.FlaggedCategories()) == 0 || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}
