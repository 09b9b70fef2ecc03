package ai_test

import (
	"errors"
	"testing"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aitest"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/token"
)

// The test verifies the error for each failure of a stream, and that a reply whose stream was
// interrupted is in the conversation.
func TestFaultsOfStreams(t *testing.T) {
	gaveUp := func(err error) bool {
		e, ok := errors.AsType[*ai.StreamError](err)
		return ok && e.ProviderStatus == 503 && e.Class() == retry.Transient
	}
	for _, c := range []struct {
		kind     string
		wrong    func(error) bool // nil: no error
		messages int              // number of stored messages
	}{
		{"nodone", nil, 2},
		{"envelope", nil, 2},
		{"error", gaveUp, 1},
		{"cut", func(err error) bool { return errors.Is(err, ai.ErrMayBeBilled) }, 2},
		{"empty", func(err error) bool { return errors.Is(err, ai.ErrEmpty) && !errors.Is(err, ai.ErrMayBeBilled) }, 2},
	} {
		t.Run(c.kind, func(t *testing.T) {
			rule, err := fault.Parse("POST /v1.1/conversations/{conversationId}/messages stream=" + c.kind + " once=1")
			if err != nil {
				t.Fatal(err)
			}
			running := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{rule}})
			client := clients(running.URL, running.Environment.ID, token.NewSecret(string(running.Environment.AccessKey)))(t, aitest.Caller{})
			if _, err := client.CreateConversation(t.Context(), ai.NewConversation{ID: "c"}); err != nil {
				t.Fatal(err)
			}
			stream, err := client.Send(t.Context(), "c", ai.Message{Prompt: "Say hello.", Model: "agent-1"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := ai.Text(stream)
			if c.wrong == nil && (err != nil || text == "") || c.wrong != nil && !c.wrong(err) {
				t.Errorf("got %q, %v", text, err)
			}
			var stored []ai.StoredMessage
			for m, err := range client.Messages(t.Context(), "c") {
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, m)
			}
			if len(stored) != c.messages {
				t.Fatalf("got %d messages: %+v", len(stored), stored)
			}
			if c.kind == "cut" && stored[1].Text() == "" {
				t.Error("the reply is not there")
			}
		})
	}
}
