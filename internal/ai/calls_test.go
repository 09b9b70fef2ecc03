package ai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/token"
)

// A caller calls a stand-in.
type caller struct {
	*ai.Client
	t       *testing.T
	service aiservicetest.Running
	page    string // the address of a page that the stand-in can fetch
}

func newCaller(t *testing.T) caller {
	t.Helper()
	s := aiservicetest.Run(t, aiservice.Options{Credits: 1000})
	minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, Service: "ai", Permissions: []string{"ai:admin"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ai.New(ai.Options{BaseURL: s.URL, Tokens: minter, Language: "de"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>A page</title><p>Read it.")
	}))
	t.Cleanup(page.Close)
	return caller{c, t, s, page.URL}
}

// must gives what there is, and fails where there is an error instead.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (c caller) no(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Error(err)
	}
}

func count[T any](c caller, items iter.Seq2[T, error]) (n int) {
	c.t.Helper()
	for _, err := range items {
		if err != nil {
			c.t.Fatal(err)
		}
		n++
	}
	return n
}

func file(name string, content []byte) ai.File {
	return ai.File{Name: name, Size: int64(len(content)), Attributes: map[string]string{"label": name}, Body: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

// TestEveryCall makes each call of the client on the stand-in, which holds each request and
// each answer against its description, so that both mean the same service.
func TestEveryCall(t *testing.T) {
	c := newCaller(t)
	if h := must[ai.Health](t)(c.Health(t.Context())); h.ServiceName == "" {
		t.Error("the service has no name")
	}
	if all := must[[]ai.Model](t)(c.Models(t.Context())); len(all) == 0 || !all[0].Allowed || all[0].Limits.MaxImageSize == 0 {
		t.Errorf("models %+v", all)
	}
	c.callConversations(t)
	c.callAttachments(t)
	c.callActions(t)
	c.callContexts(t)
	c.callAdministration(t)
	pages := []string{"GET /docs", "GET /docs/", "GET /v1/docs", "GET /v1/doc.json", "GET /v1/api/doc.json", "GET /token/dev/{hash}", "POST /v1/conversations/{conversationId}/messages"}
	for _, op := range c.service.Checker.Operations() {
		if !slices.Contains(c.service.Checker.Called(), op) && !slices.Contains(pages, op) {
			t.Errorf("%s is never called", op)
		}
	}
}

func (c caller) callConversations(t *testing.T) {
	ctx := t.Context()
	id := must[string](t)(c.CreateConversation(ctx, ai.NewConversation{ID: "talk", Group: "g"}))
	if _, err := c.CreateConversation(ctx, ai.NewConversation{ID: id}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same conversation again: %v", err)
	}
	c.no(c.RenameConversation(ctx, id, "A talk"))
	c.no(c.PinConversation(ctx, id, true))
	if v := must[ai.Conversation](t)(c.Conversation(ctx, id)); v.Title != "A talk" || !v.Pinned || v.CreatedAt.IsZero() {
		t.Errorf("got %+v", v)
	}
	var picture bytes.Buffer
	c.no(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 3))))
	shown := must[string](t)(c.UploadFile(ctx, id, file("a.png", picture.Bytes())))
	m := ai.Message{
		Prompt: `Describe it. Answer with one JSON object {"alt": string}.`, Model: "agent-1", Content: []ai.Item{ai.FileItem(shown), ai.TextItem("A text.")},
		WebSearch: true, Reasoning: true, Attributes: map[string]int{"n": 1},
	}
	reply := must[string](t)(ai.Text(must[*ai.Stream](t)(c.Send(ctx, id, m))))
	if !strings.Contains(reply, "4 by 3") || !json.Valid([]byte(reply)) {
		t.Errorf("reply %s", reply)
	}
	var kept []string
	for said, err := range c.Messages(ctx, id, ai.Page{Limit: 1}) {
		c.no(err)
		kept = append(kept, said.Role+": "+said.Text())
	}
	if len(kept) != 2 || kept[1] != "assistant: "+reply {
		t.Errorf("kept %q", kept)
	}
	if n := count(c, c.Conversations(ctx, ai.ConversationFilter{Group: "g", SortBy: "updatedAt", Order: "asc", ExcludeEmpty: true})); n != 1 {
		t.Errorf("%d conversations", n)
	}
	c.no(c.DeleteConversation(ctx, id))
	c.no(c.DeleteConversation(ctx, id))
	if _, err := c.Conversation(ctx, id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deleted conversation: %v", err)
	}
}

func (c caller) callAttachments(t *testing.T) {
	ctx := t.Context()
	talk := must[string](t)(c.CreateConversation(ctx, ai.NewConversation{ID: "attached"}))
	one := ai.Document{Content: "<p>teh cat", Name: "Cat", Attributes: json.RawMessage(`{"version":1}`)}
	made := must[[]string](t)(c.AddDocuments(ctx, talk, []ai.Document{one, one}))
	made = append(made, must[string](t)(c.AddDocument(ctx, talk, one)))
	if n := count(c, c.Documents(ctx, talk, ai.Page{Limit: 2})); n != 3 || len(made) != 3 {
		t.Errorf("%d documents", n)
	}
	if d := must[ai.Document](t)(c.Document(ctx, talk, made[2])); d.Content != one.Content || d.Name != one.Name {
		t.Errorf("got %+v", d)
	}
	c.no(c.DeleteDocument(ctx, talk, made[2]))
	note := must[string](t)(c.UploadFile(ctx, talk, file("note.txt", []byte("A note."))))
	if f := must[ai.StoredFile](t)(c.File(ctx, talk, note)); f.Size != 7 || f.Type != "text/plain" || count(c, c.Files(ctx, talk)) != 1 {
		t.Errorf("got %+v", f)
	}
	c.no(c.DeleteFile(ctx, talk, note))
	page := must[string](t)(c.AddWebResource(ctx, talk, ai.WebResource{URL: c.page}))
	if w := must[ai.WebResource](t)(c.WebResource(ctx, talk, page)); w.URL != c.page || count(c, c.WebResources(ctx, talk)) != 1 {
		t.Errorf("got %+v", w)
	}
	c.no(c.DeleteWebResource(ctx, talk, page))
}

func (c caller) callActions(t *testing.T) {
	ctx := t.Context()
	const html = `<p data-id="a">teh cat</p><p data-id="b">A dog</p>`
	if got := must[string](t)(ai.Text(must[*ai.Stream](t)(c.Action(ctx, "translate", "A cat", map[string]string{"language": "de"})))); got != "[de] A cat" {
		t.Errorf("translated: %s", got)
	}
	custom := ai.CustomAction{Prompt: "Put it into capitals", Model: "agent-1", Output: "plainText", Content: "A cat"}
	if got := must[string](t)(ai.Text(must[*ai.Stream](t)(c.CustomAction(ctx, custom)))); !strings.HasPrefix(got, "A CAT\n") {
		t.Errorf("in capitals: %s", got)
	}
	if got := must[map[string]string](t)(ai.Suggestions(must[*ai.Stream](t)(c.Review(ctx, "correctness", html, nil)))); len(got) != 1 || got["a"] != "The cat" {
		t.Errorf("reviewed: %v", got)
	}
	if got := must[map[string]string](t)(ai.Suggestions(must[*ai.Stream](t)(c.CustomReview(ctx, "Put it into capitals", "agent-1", html)))); len(got) != 2 {
		t.Errorf("reviewed by a prompt: %v", got)
	}
	p := ai.Processing{Documents: []string{"<p>teh cat", "<p>A dog"}, Prompt: "Correct it", Model: "agent-1"}
	whole := must[[]ai.Processed](t)(c.ProcessDocuments(ctx, p))
	inPieces := must[[]ai.Processed](t)(ai.Documents(must[*ai.Stream](t)(c.StreamDocuments(ctx, p))))
	if !slices.Equal(whole, inPieces) || whole[0].Document != "<p>The cat" || whole[1].Document != p.Documents[1] {
		t.Errorf("%v and %v", whole, inPieces)
	}
}

func (c caller) callContexts(t *testing.T) {
	ctx := t.Context()
	id := must[string](t)(c.CreateContext(ctx, ai.Context{Name: "House style", Instructions: "Be brief.", AutoApply: []string{"conversations"}}))
	if v := must[ai.Context](t)(c.UpdateContext(ctx, id, ai.Changes{"description": "Ours"})); v.Name != "House style" || v.Description != "Ours" {
		t.Errorf("got %+v", v)
	}
	if a, b := must[ai.Context](t)(c.Context(ctx, id)), must[ai.Context](t)(c.AdminContext(ctx, id)); a.ID != id || b.ID != id || count(c, c.Contexts(ctx)) != 1 || count(c, c.AdminContexts(ctx)) != 1 {
		t.Errorf("got %+v and %+v", a, b)
	}
	rules := must[string](t)(c.UploadContextFile(ctx, id, ai.File{Name: "rules.txt", Size: 6, Body: file("", []byte("Rules.")).Body}))
	must[string](t)(c.FetchContextFile(ctx, id, c.page, "more.html"))
	if f := must[ai.StoredFile](t)(c.ContextFile(ctx, id, rules)); f.Name != "rules.txt" || count(c, c.ContextFiles(ctx, id)) != 2 {
		t.Errorf("got %+v", f)
	}
	c.no(c.DeleteContextFile(ctx, id, rules))
	prompt := must[string](t)(c.CreatePrompt(ctx, id, ai.Prompt{Name: "Describe", Prompt: "Describe it."}))
	if p := must[ai.Prompt](t)(c.UpdatePrompt(ctx, id, prompt, ai.Changes{"name": "Say"})); p.Name != "Say" || count(c, c.Prompts(ctx, id)) != 1 {
		t.Errorf("got %+v", p)
	}
	talk := must[string](t)(c.CreateConversation(ctx, ai.NewConversation{ID: "with-context"}))
	must[string](t)(ai.Text(must[*ai.Stream](t)(c.Send(ctx, talk, ai.Message{Model: "agent-1", Content: []ai.Item{{Type: "context", ID: id, PromptID: prompt}}}))))
	must[ai.Prompt](t)(c.Prompt(ctx, id, prompt))
	c.no(c.DeletePrompt(ctx, id, prompt))
	library := must[string](t)(c.CreateContextLibrary(ctx, ai.ContextLibrary{Name: "All", ContextIDs: []string{id}}))
	if l := must[ai.ContextLibrary](t)(c.UpdateContextLibrary(ctx, library, ai.Changes{"name": "All of them"})); l.Name != "All of them" || count(c, c.ContextLibraries(ctx)) != 1 {
		t.Errorf("got %+v", l)
	}
	must[ai.ContextLibrary](t)(c.ContextLibrary(ctx, library))
	c.no(c.DeleteContextLibrary(ctx, library))
	c.no(c.DeleteContext(ctx, id))
}

func (c caller) callAdministration(t *testing.T) {
	ctx := t.Context()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	used := must[ai.Usage](t)(c.Usage(ctx, from, to))
	if used.Credits <= 0 || used.Allowance == nil || *used.Allowance != 1000 || count(c, c.UsageByUser(ctx, from, to)) != 1 {
		t.Errorf("used %+v", used)
	}
	if n := count(c, c.AdminConversations(ctx, "")); n != 2 {
		t.Errorf("%d conversations of all users", n)
	}
}
