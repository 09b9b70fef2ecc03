package aiservice_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

func TestDescribeAPicture(t *testing.T) {
	c := start(t, aiservice.Options{}).as("tester", "ai:conversations:read", "ai:conversations:write", "ai:conversations:context:files:png", "ai:models:agent")
	path := c.conversation("img-1")
	id := c.file(path, "red-car.png", "image/png", picture(t, 40, 30))
	all := c.say(path, map[string]any{
		"prompt":  `Describe the attached image. Answer with one JSON object {"alt": string, "tags": [string], "decorative": boolean}.`,
		"content": []any{map[string]string{"type": "file", "id": id}},
	})
	if got, want := names(all), []string{"message-metadata", "text-delta", "conversation-title", "done"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	var got struct {
		Alt        string
		Tags       []string
		Decorative bool
	}
	reply := text(all, "text-delta")
	if err := json.Unmarshal([]byte(reply), &got); err != nil || got.Alt == "" || len(got.Tags) == 0 {
		t.Errorf("%s: %v", reply, err)
	}
	messages := c.items(path + "/messages")
	if roles := column(messages, "role"); !slices.Equal(roles, []string{"user", "assistant"}) {
		t.Fatalf("roles %v", roles)
	}
	part := messages[1].(map[string]any)["content"].([]any)[0].(map[string]any)
	if part["content"] != reply || part["type"] != "text" {
		t.Errorf("what was kept is %v, and what was sent %s", part, reply)
	}
	if s := c.Stats(t); s.BilledRequests != 1 || s.Conversations != 1 || s.Credits[0].Credits < 1 {
		t.Errorf("statistics %+v", s)
	}
	c.must("DELETE", path, nil)
	c.refused("GET", path, nil, 404, "conversation-not-found")
	if s := c.Stats(t); s.BilledRequests != 1 || s.Conversations != 0 {
		t.Errorf("statistics %+v", s)
	}
}

// The test verifies that a prompt for alternative texts changes only the images in a document of a
// conversation, and that the text describes the image.
func TestPicturesInDocumentsAreSeen(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	img := ` src="data:image/png;base64,` + base64.StdEncoding.EncodeToString(picture(t, 40, 30)) + `"`
	document := c.must("POST", path+"/documents", map[string]any{"content": "<p>teh cat<img" + img + ">"})["id"]
	got := text(c.say(path, map[string]any{"prompt": "Add alternative texts.", "content": []any{map[string]any{"type": "document", "id": document}}}), "modification-delta")
	if !strings.HasPrefix(got, `<p>teh cat<img alt="`) || !strings.HasSuffix(got, img+">") || !strings.Contains(got, "40 by 30") {
		t.Errorf("the document became %s", got)
	}
}

// The test verifies that a request for a repair uses the keys and the image of the previous
// message.
func TestAFollowUpIsAboutTheSame(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("img-1")
	id := c.file(path, "red-car.png", "image/png", picture(t, 40, 30))
	first := text(c.say(path, map[string]any{
		"prompt": `Write in German (de). Answer with one JSON object {"alt": string, "width": number}.`, "content": []any{map[string]string{"type": "file", "id": id}},
	}), "text-delta")
	again := map[string]any{"prompt": "Your last answer was not one JSON object; answer with the JSON object only."}
	if got := text(c.say(path, again), "text-delta"); got != first || !strings.Contains(got, "40 by 30") {
		t.Errorf("the first answer is %s, the second %s", first, got)
	}
	c.must("DELETE", path+"/files/"+id, nil)
	if got := text(c.say(path, again), "text-delta"); strings.Contains(got, "40 by 30") {
		t.Errorf("a file that is gone is in %s", got)
	}
}

func TestEveryEventOfAReply(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("all")
	document := c.must("POST", path+"/documents", map[string]any{"content": "<p>teh cat</p>"})["id"]
	all := c.say(path, map[string]any{
		"prompt":       "Correct it.",
		"capabilities": map[string]any{"webSearch": map[string]any{}, "reasoning": map[string]any{}},
		"content": []any{
			map[string]any{"type": "document", "id": document},
			map[string]any{"type": "mcp-tool-context", "mcpServerName": "shop", "toolName": "prices", "data": map[string]any{"sku": 7}},
			map[string]any{"type": "text", "content": "Some text."},
		},
	})
	want := []string{"message-metadata", "reasoning", "web-search", "source", "mcp-tool-notification", "mcp-tool-result",
		"document-read", "text-delta", "modification-delta", "conversation-title", "done"}
	if got := names(all); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if got := text(all, "modification-delta"); got != "<p>The cat</p>" {
		t.Errorf("the document became %s", got)
	}
	kept := c.items(path + "/messages")[1].(map[string]any)["content"].([]any)
	if types := column(kept, "type"); !slices.Equal(types, []string{"url", "mcp-tool-result", "text", "modification"}) {
		t.Errorf("what was kept is %v", types)
	}
	again := names(c.say(path, map[string]any{"prompt": "And now?"}))
	if slices.Contains(again, "conversation-title") || slices.Contains(again, "reasoning") {
		t.Errorf("the second reply had %v", again)
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	message := func(change func(map[string]any)) map[string]any {
		m := map[string]any{"prompt": "Hello", "model": "agent-1"}
		change(m)
		return m
	}
	with := func(key string, value any) map[string]any {
		return message(func(m map[string]any) { m[key] = value })
	}
	item := func(fields map[string]any) map[string]any { return with("content", []any{fields}) }
	for name, test := range map[string]struct {
		body   any
		status int
		code   string
	}{
		"no JSON":                 {"{", 400, "invalid-request-data"},
		"two values":              {`{"prompt":"a","model":"agent-1"} {}`, 400, "invalid-request-data"},
		"a field nobody knows":    {with("promt", "x"), 400, "invalid-request-data"},
		"a field of another type": {with("prompt", 7), 400, "invalid-request-data"},
		"no prompt":               {with("prompt", " "), 400, "invalid-request-data"},
		"a long prompt":           {with("prompt", strings.Repeat("ä", 100_001)), 400, "invalid-request-data"},
		"no model":                {with("model", ""), 400, "invalid-request-data"},
		"an unknown model":        {with("model", "gpt-2"), 404, "MODEL_NOT_FOUND"},
		"a model that is gone":    {with("model", "gpt-4.1"), 404, "MODEL_NOT_FOUND"},
		"a capability as true":    {with("capabilities", map[string]any{"webSearch": true}), 400, "invalid-request-data"},
		"a capability with keys":  {with("capabilities", map[string]any{"reasoning": map[string]any{"enabled": true}}), 400, "invalid-request-data"},
		"an unknown capability":   {with("capabilities", map[string]any{"websearch": map[string]any{}}), 400, "invalid-request-data"},
		"attributes as a list":    {with("attributes", []int{1}), 400, "invalid-request-data"},
		"an unknown item":         {item(map[string]any{"type": "image", "id": "x"}), 400, "invalid-request-data"},
		"an item without ID":      {item(map[string]any{"type": "file"}), 400, "invalid-request-data"},
		"a text without content":  {item(map[string]any{"type": "text"}), 400, "invalid-request-data"},
		"an empty selection":      {item(map[string]any{"type": "selection"}), 400, "invalid-request-data"},
		"a tool without data":     {item(map[string]any{"type": "mcp-tool-context", "mcpServerName": "s"}), 400, "invalid-request-data"},
		"a long tool ID":          {item(map[string]any{"type": "mcp-tool-context", "mcpServerName": "s", "data": 1, "id": strings.Repeat("x", 22)}), 400, "invalid-request-data"},
		"a context twice over":    {item(map[string]any{"type": "context", "id": "x", "fileId": "y", "promptId": "z"}), 400, "invalid-request-data"},
		"an unknown file":         {item(map[string]any{"type": "file", "id": "x"}), 404, "file-not-found"},
		"an unknown document":     {item(map[string]any{"type": "document", "id": "x"}), 404, "document-not-found"},
		"an unknown page":         {item(map[string]any{"type": "web-resource", "id": "x"}), 404, "web-resource-not-found"},
		"an unknown context":      {item(map[string]any{"type": "context", "id": "x"}), 404, "context-not-found"},
		"something bad":           {with("prompt", "please sandbox-flag:violence"), 422, "moderation-flagged"},
		"too much":                {item(map[string]any{"type": "text", "content": strings.Repeat("x", 256_001)}), 413, "content-too-large"},
	} {
		t.Run(name, func(t *testing.T) {
			c := *c
			c.TB = t
			data := c.refused("POST", path+"/messages", test.body, test.status, test.code)
			if issues, _ := data["issues"].([]any); test.status == 400 && len(issues) == 0 {
				t.Error("no issues are named")
			}
			if test.status == 422 && !slices.Equal(data["flaggedCategories"].([]any), []any{"violence"}) {
				t.Errorf("data %v", data)
			}
		})
	}
	c.refused("POST", "/v1/conversations/none/messages", message(func(map[string]any) {}), 404, "conversation-not-found")
	if s := c.Stats(t); s.BilledRequests != 0 {
		t.Errorf("%d calls were billed", s.BilledRequests)
	}
	if all := c.items(path + "/messages"); len(all) != 0 {
		t.Errorf("kept: %v", all)
	}
}
