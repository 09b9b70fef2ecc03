package aitest

import (
	"errors"
	"slices"
	"testing"

	"assetferry/internal/ai"
)

func refusalLaws() []law {
	return []law{
		{"who is there says so to everybody", saysHealth},
		{"a missing scope is named", namesMissingScopes},
		{"a model that the token lacks says so", namesModels},
		{"a token of another environment is refused", refusesEnvironments},
		{"a forged token is refused", refusesForgery},
		{"a model that is not known is refused", refusesUnknownModels},
		{"a message without a prompt is refused", refusesNothing},
		{guess("a cursor that is none is refused"), refusesCursors},
	}
}

// saysHealth is known of services on premises. At the vendor's it may be refused.
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
		t.Errorf("a token without models is allowed one of %+v", models)
	}
	c := s.conversation(t)
	if e := refused(t, "asked", ended(poor.Send(t.Context(), c, ai.Message{Prompt: "Hello", Model: s.model.ID}))); e.Status != 403 {
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
	if refused(t, "asked", err); !errors.Is(err, ai.ErrModel) {
		t.Errorf("got %v", err)
	}
}

func refusesNothing(t *testing.T, s *scratch) {
	err := ended(s.Send(t.Context(), s.conversation(t), ai.Message{Model: s.model.ID}))
	if e := refused(t, "asked", err); e.Status != 400 {
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
	if e := refused(t, "asked", err); e.Status != 422 || len(e.FlaggedCategories()) == 0 || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}
