package aitest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/ai"
)

func messageLaws() []law {
	return []law{
		{"the conversation stores a message and its reply", answersMessages},
		{"the model describes an attached image", describesImages},
		{"the messages of a conversation are listed forwards and backwards", keepsHistory},
		{"a message may combine attachments, reasoning and web search", takesCapabilities},
		{"a file that does not exist is rejected", refusesUnknownFiles},
	}
}

func answersMessages(t *testing.T, s *scratch) {
	c := s.conversation(t)
	all := s.say(t, c, ai.Message{Prompt: "Say hello.", Attributes: map[string]string{"mark": "ours"}})
	if m, ok := all[0].(ai.MessageMetadata); !ok || m.MessageID == "" {
		t.Errorf("the first event is %#v", all[0])
	}
	text := joined(all)
	if text == "" {
		t.Error("no text")
	}
	stored := collect(t, s.Messages(t.Context(), c))
	if len(stored) != 2 {
		t.Fatalf("got %d messages: %+v", len(stored), stored)
	}
	asked, reply := stored[0], stored[1]
	var attributes map[string]string
	_ = json.Unmarshal(asked.Attributes, &attributes)
	if asked.Role != "user" || asked.Prompt != "Say hello." || asked.Model != s.model.ID || attributes["mark"] != "ours" {
		t.Errorf("message: got %+v", asked)
	}
	if reply.Role != "assistant" || reply.Text() != text {
		t.Errorf("reply: got %+v, want %q", reply, text)
	}
}

func describesImages(t *testing.T, s *scratch) {
	c := s.conversation(t)
	id, err := s.UploadFile(t.Context(), c, file("grey.png", "image/png", picture(t, 64, 48)))
	if err != nil {
		t.Fatal(err)
	}
	all := s.say(t, c, ai.Message{Prompt: "Describe the attached image in a JSON object with the key alt, and nothing else.", Content: []ai.Item{ai.FileItem(id)}})
	text := joined(all)
	var got map[string]any
	begin, end := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if begin < 0 || end < begin || json.Unmarshal([]byte(text[begin:end+1]), &got) != nil || got["alt"] == "" {
		t.Errorf("got %q", text)
	}
	stored := collect(t, s.Messages(t.Context(), c))
	if len(stored) == 0 || !slices.ContainsFunc(stored[0].Content, func(part ai.StoredContent) bool { return part.Type == "file" }) {
		t.Errorf("the stored message lacks the file: %+v", stored)
	}
}

func keepsHistory(t *testing.T, s *scratch) {
	c := s.conversation(t)
	for _, prompt := range []string{"one", "two", "three"} {
		s.say(t, c, ai.Message{Prompt: prompt})
	}
	messageID := func(m ai.StoredMessage) string { return m.ID }
	last, isPlain := "", true
	forward := collect(t, s.Messages(t.Context(), c, ai.Page{Limit: 2, OnPage: func(next, previous string) {
		last, isPlain = previous, isPlain && next == "" && previous == ""
	}}))
	if len(forward) != 6 {
		t.Fatalf("got %d messages", len(forward))
	}
	for n, prompt := range []string{"one", "two", "three"} {
		if forward[2*n].Prompt != prompt || forward[2*n+1].Role != "assistant" {
			t.Errorf("message %d: got %+v, then %+v", n, forward[2*n], forward[2*n+1])
		}
	}
	if isPlain {
		return // the complete list as a plain array
	}
	backward := ids(collect(t, s.Messages(t.Context(), c, ai.Page{Limit: 2, Cursor: last, Backward: true})), messageID)
	slices.Reverse(backward)
	if want := ids(forward[:4], messageID); !slices.Equal(backward, want) {
		t.Errorf("backward: got %v, want %v", backward, want)
	}
}

func takesCapabilities(t *testing.T, s *scratch) {
	c := s.conversation(t)
	document, err := s.AddDocument(t.Context(), c, ai.Document{Content: html})
	if err != nil {
		t.Fatal(err)
	}
	m := ai.Message{Prompt: "What is this about?", Content: []ai.Item{{Type: "document", ID: document}, ai.TextItem("A text.")}}
	m.WebSearch = s.model.WebSearch.Enabled && s.model.WebSearch.Allowed
	m.Reasoning = s.model.Reasoning.Enabled && s.model.Reasoning.Allowed
	if all := s.say(t, c, m); joined(all) == "" {
		t.Errorf("no text in %#v", all)
	}
}

func refusesUnknownFiles(t *testing.T, s *scratch) {
	c := s.conversation(t)
	err := ended(s.Send(t.Context(), c, ai.Message{Prompt: "Describe it.", Model: s.model.ID, Content: []ai.Item{ai.FileItem("nothing")}}))
	refused(t, "a file that does not exist", err)
	if stored := collect(t, s.Messages(t.Context(), c)); len(stored) > 0 {
		t.Errorf("the rejected message is stored: %+v", stored)
	}
}
