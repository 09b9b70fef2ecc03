package aiservice_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

// A style is a context with a prompt and a file, each of which sets the beginning of texts.
type style struct {
	id, prompt, file any
	path             string // for administrators
}

func (c *client) style(features ...string) style {
	c.Helper()
	const all = "/v1/admin/contexts"
	s := style{id: c.must("POST", all, map[string]any{"name": "House style", "autoApply": append([]string{}, features...)})["id"]}
	s.path = fmt.Sprint(all, "/", s.id)
	s.prompt = c.must("POST", s.path+"/prompts", map[string]any{"name": "Begin", "prompt": `Begin every text with "Prompt:".`})["id"]
	s.file = c.upload(s.path+"/files", "style.txt", "text/plain", []byte(`Every text ends with "File."`), "").json(c)["id"]
	return s
}

// answersOf returns a text from each family of requests, with these items in the content.
func answersOf(c *client, conversation string, items ...map[string]any) map[string]string {
	c.Helper()
	content := func(kind, text string) []any {
		all := []any{map[string]any{"type": kind, "content": text}}
		for _, item := range items {
			all = append(all, item)
		}
		return all
	}
	const page = `<p data-id="a">A dog</p>`
	streamed := func(path, event string, body map[string]any) string {
		all, err := c.stream(path, body)
		if err != nil {
			c.Errorf("POST %s: %v", path, err)
		}
		return text(all, event)
	}
	processing := map[string]any{"prompt": "Give each img an alt.", "model": "agent-1", "content": content("document", `<img src="a.jpg">`)}
	custom := map[string]any{"prompt": "Make it nicer.", "model": "agent-1", "content": content("text", page)}
	return map[string]string{
		"conversations": streamed(conversation+"/messages", "text-delta", map[string]any{"prompt": "Hello", "model": "agent-1", "content": content("text", "A text")}),
		"action":        streamed("/v1/actions/system/improve-writing/calls", "modification-delta", map[string]any{"content": content("text", page)}),
		"custom action": streamed("/v1/actions/custom/calls", "modification-delta", custom),
		"review":        streamed("/v1/reviews/system/clarity/calls", "review-delta", map[string]any{"content": content("text", page)}),
		"custom review": streamed("/v1/reviews/custom/calls", "review-delta", custom),
		"documents":     fmt.Sprint(c.must("POST", "/v1/documents/process", processing)["documents"]),
		"stream":        streamed("/v1/documents/process/stream", "document-delta", processing),
	}
}

func TestContextsInEveryFamily(t *testing.T) {
	c := start(t, aiservice.Options{})
	s := c.style()
	talks := 0
	for name, test := range map[string]struct {
		item         map[string]any
		begins, ends bool
	}{
		"without":       {nil, false, false},
		"whole":         {map[string]any{"type": "context", "id": s.id}, true, true},
		"a prompt only": {map[string]any{"type": "context", "id": s.id, "promptId": s.prompt}, true, false},
		"a file only":   {map[string]any{"type": "context", "id": s.id, "fileId": s.file}, false, true},
	} {
		talks++
		var items []map[string]any
		if test.item != nil {
			items = append(items, test.item)
		}
		for family, got := range answersOf(c, c.conversation(fmt.Sprint("talk", talks)), items...) {
			if strings.Contains(got, "Prompt: ") != test.begins || strings.Contains(got, "File.") != test.ends {
				t.Errorf("%s, %s: got %q", name, family, got)
			}
		}
	}
}

// The test verifies that a request only stores the reference, and that contexts are read for every
// call.
func TestContextsAreReadOnEveryCall(t *testing.T) {
	c := start(t, aiservice.Options{})
	s := c.style()
	talk := c.conversation("talk")
	say := func(content ...any) string {
		t.Helper()
		all, err := c.stream(talk+"/messages", map[string]any{"prompt": "Hello", "model": "agent-1", "content": append([]any{}, content...)})
		if err != nil {
			t.Fatal(err)
		}
		return text(all, "text-delta")
	}
	if got := say(map[string]any{"type": "context", "id": s.id}); !strings.HasPrefix(got, "Prompt: ") {
		t.Errorf("got %q", got)
	}
	c.must("PATCH", fmt.Sprint(s.path, "/prompts/", s.prompt), map[string]any{"prompt": `Begin every text with "Changed:".`})
	if got := say(); !strings.HasPrefix(got, "Changed: ") {
		t.Errorf("a conversation refers to it still: got %q", got)
	}
	first := c.items(talk + "/messages")[0].(map[string]any)
	if got := fmt.Sprint(first); first["prompt"] != "Hello" || strings.Contains(got, "Begin every") || !strings.Contains(got, fmt.Sprint(s.id)) {
		t.Errorf("the message is kept as %v", got)
	}
	c.must("DELETE", s.path, nil)
	if got := say(); strings.Contains(got, "Changed:") {
		t.Errorf("after deleting: got %q", got)
	}
}

func TestAutomaticContexts(t *testing.T) {
	c := start(t, aiservice.Options{})
	families := map[string][]string{
		"conversations": {"conversations"}, "actions": {"action", "custom action"}, "reviews": {"review", "custom review"}, "documents": {"documents", "stream"},
	}
	for feature, applies := range families {
		s := c.style(feature)
		// Automatic contexts need no scope.
		user := c.as("tester", "ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process")
		for family, got := range answersOf(user, user.conversation("with-"+feature)) {
			if strings.Contains(got, "Prompt: ") != slices.Contains(applies, family) {
				t.Errorf("applied to %s, %s: got %q", feature, family, got)
			}
		}
		c.must("DELETE", s.path, nil)
	}
}

func TestContextItemsAreChecked(t *testing.T) {
	c := start(t, aiservice.Options{Credits: 100})
	s := c.style()
	empty := c.must("POST", "/v1/admin/contexts", map[string]any{"name": "Empty"})["id"]
	talk := c.conversation("talk") + "/messages"
	const page = `<p data-id="a">A dog</p>`
	for path, body := range map[string]map[string]any{
		talk:                                   {"prompt": "x", "model": "agent-1"},
		"/v1/actions/system/fix-grammar/calls": {},
		"/v1/actions/custom/calls":             {"prompt": "x", "model": "agent-1"},
		"/v1/reviews/system/clarity/calls":     {},
		"/v1/reviews/custom/calls":             {"prompt": "x", "model": "agent-1"},
		"/v1/documents/process":                {"prompt": "x", "model": "agent-1"},
		"/v1/documents/process/stream":         {"prompt": "x", "model": "agent-1"},
	} {
		kind := "text"
		if strings.Contains(path, "documents") {
			kind = "document"
		}
		with := func(items ...map[string]any) map[string]any {
			content := []any{map[string]any{"type": kind, "content": page}}
			for _, item := range items {
				content = append(content, item)
			}
			body["content"] = content
			return body
		}
		c.refused("POST", path, with(map[string]any{"type": "context"}), 400, "invalid-request-data")
		c.refused("POST", path, with(map[string]any{"type": "context", "id": s.id, "fileId": "x", "promptId": "y"}), 400, "invalid-request-data")
		c.refused("POST", path, with(map[string]any{"type": "context", "id": "none"}), 404, "context-not-found")
		c.refused("POST", path, with(map[string]any{"type": "context", "id": s.id, "fileId": "none"}), 404, "file-not-found")
		c.refused("POST", path, with(map[string]any{"type": "context", "id": s.id, "promptId": "none"}), 404, "prompt-not-found")
		user := c.as("tester", "ai:conversations:*", "ai:models:*", "ai:actions:*", "ai:reviews:*", "ai:documents:process")
		data := user.refused("POST", path, with(map[string]any{"type": "context", "id": s.id}), 403, "missing-permissions")
		if fmt.Sprint(data["missingPermissions"]) != "[ai:contexts:read]" {
			t.Errorf("%s: missing %v", path, data)
		}
		if body["prompt"] == nil || kind == "document" {
			continue
		}
		delete(body, "prompt") // optional with a context that contains a prompt
		if all, err := c.stream(path, with(map[string]any{"type": "context", "id": s.id, "promptId": s.prompt})); err != nil || len(all) == 0 {
			t.Errorf("%s by the prompt of a context: %v", path, err)
		}
		c.refused("POST", path, with(), 400, "invalid-request-data")
		c.refused("POST", path, with(map[string]any{"type": "context", "id": empty}), 400, "invalid-request-data")
	}
	c.refused("POST", "/v1/documents/process", map[string]any{"prompt": "x", "model": "agent-1", "content": []any{map[string]any{"type": "context", "id": s.id}}}, 400, "invalid-request-data")
	c.refused("POST", "/v1/actions/system/fix-grammar/calls", map[string]any{"content": []any{map[string]any{"type": "context", "id": s.id}}}, 400, "invalid-request-data")
}

// The test verifies that contexts list their parts, so that clients can offer them for selection.
func TestContextsNameTheirParts(t *testing.T) {
	c := start(t, aiservice.Options{})
	s := c.style()
	for _, v := range []map[string]any{c.must("GET", fmt.Sprint("/v1/contexts/", s.id), nil), c.items("/v1/contexts")[0].(map[string]any)} {
		want := fmt.Sprint([]any{map[string]any{"id": s.prompt, "name": "Begin"}}, []any{map[string]any{"id": s.file, "name": "style.txt"}})
		if got := fmt.Sprint(v["prompts"], v["files"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
