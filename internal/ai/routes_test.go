package ai

import (
	"context"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// drain reads a list to its end.
func drain[T any](all iter.Seq2[T, error]) (err error) {
	for _, err = range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// ignore returns the error of a method, without its answer.
func ignore[T any](_ T, err error) error { return err }

func textFile() File {
	return File{Name: "a.txt", Size: 5, Body: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil }}
}

// calls calls every endpoint once, with the expected request.
var calls = []struct {
	endpoint Endpoint
	call     func(context.Context, *Client) error
	want     string // method and URL
	body     string // sent JSON; empty: none, or a file
}{
	{"Health", func(ctx context.Context, c *Client) error { return ignore(c.Health(ctx)) }, "GET /health", ""},
	{"Description", func(ctx context.Context, c *Client) error { return ignore(c.Description(ctx)) }, "GET /v1/doc.json", ""},
	{"Models", func(ctx context.Context, c *Client) error { return ignore(c.Models(ctx)) }, "GET /v1/models/1?language=de", ""},
	{"CreateConversation", func(ctx context.Context, c *Client) error {
		return ignore(c.CreateConversation(ctx, NewConversation{ID: "c 1", Group: "g"}))
	}, "POST /v1/conversations", `{"id":"c 1","group":"g"}`},
	{"Conversations", func(ctx context.Context, c *Client) error {
		return drain(c.Conversations(ctx, ConversationFilter{Group: "g", SortBy: "createdAt", Order: "desc", ExcludeEmpty: true}, Page{Cursor: "x", Limit: 7}))
	}, "GET /v1/conversations?cursor=x&excludeEmpty=true&group=g&limit=7&order=desc&sortBy=createdAt", ""},
	{"Conversation", func(ctx context.Context, c *Client) error { return ignore(c.Conversation(ctx, "c/1?")) }, "GET /v1/conversations/c%2F1%3F", ""},
	{"UpdateConversation", func(ctx context.Context, c *Client) error { return c.PinConversation(ctx, "c", true) }, "PATCH /v1/conversations/c", `{"pinned":true}`},
	{"UpdateConversation", func(ctx context.Context, c *Client) error { return c.RenameConversation(ctx, "c", "t") }, "PATCH /v1/conversations/c", `{"title":"t"}`},
	{"DeleteConversation", func(ctx context.Context, c *Client) error { return c.DeleteConversation(ctx, "c") }, "DELETE /v1/conversations/c", ""},
	{"Send", func(ctx context.Context, c *Client) error {
		return ignore(c.Send(ctx, "c", Message{Prompt: "p", Model: "m", Content: []Item{FileItem("f"), {Type: "document", ID: "d"}, WebResourceItem("w"), TextItem("t"), ContextRef{ID: "x"}.Item()}, WebSearch: true, Reasoning: true, Attributes: map[string]int{"a": 1}}))
	}, "POST /v1.1/conversations/c/messages", `{"attributes":{"a":1},"capabilities":{"reasoning":{},"webSearch":{}},"content":[{"type":"file","id":"f"},{"type":"document","id":"d"},{"type":"web-resource","id":"w"},{"type":"text","content":"t"},{"type":"context","id":"x"}],"model":"m","prompt":"p"}`},
	{"Send", func(ctx context.Context, c *Client) error {
		return ignore(c.Send(ctx, "c", Message{Prompt: "p", Model: "m"}))
	}, "POST /v1.1/conversations/c/messages", `{"model":"m","prompt":"p"}`},
	{"Messages", func(ctx context.Context, c *Client) error { return drain(c.Messages(ctx, "c")) }, "GET /v1/conversations/c/messages", ""},
	{"AddDocument", func(ctx context.Context, c *Client) error {
		return ignore(c.AddDocument(ctx, "c", Document{Content: "<p>"}))
	}, "POST /v1/conversations/c/documents", `{"content":"<p>"}`},
	{"AddDocuments", func(ctx context.Context, c *Client) error {
		return ignore(c.AddDocuments(ctx, "c", []Document{{Content: "x"}, {Content: "y", Name: "n"}}))
	}, "POST /v1/conversations/c/documents/batch", `[{"content":"x"},{"content":"y","name":"n"}]`},
	{"Documents", func(ctx context.Context, c *Client) error { return drain(c.Documents(ctx, "c")) }, "GET /v1/conversations/c/documents", ""},
	{"Document", func(ctx context.Context, c *Client) error { return ignore(c.Document(ctx, "c", "d")) }, "GET /v1/conversations/c/documents/d", ""},
	{"DeleteDocument", func(ctx context.Context, c *Client) error { return c.DeleteDocument(ctx, "c", "d") }, "DELETE /v1/conversations/c/documents/d", ""},
	{"UploadFile", func(ctx context.Context, c *Client) error { return ignore(c.UploadFile(ctx, "c", textFile())) }, "POST /v1/conversations/c/files", ""},
	{"Files", func(ctx context.Context, c *Client) error { return drain(c.Files(ctx, "c")) }, "GET /v1/conversations/c/files", ""},
	{"File", func(ctx context.Context, c *Client) error { return ignore(c.File(ctx, "c", "f")) }, "GET /v1/conversations/c/files/f", ""},
	{"DeleteFile", func(ctx context.Context, c *Client) error { return c.DeleteFile(ctx, "c", "f") }, "DELETE /v1/conversations/c/files/f", ""},
	{"AddWebResource", func(ctx context.Context, c *Client) error {
		return ignore(c.AddWebResource(ctx, "c", WebResource{URL: "https://example.com"}))
	}, "POST /v1/conversations/c/web-resources", `{"url":"https://example.com"}`},
	{"WebResources", func(ctx context.Context, c *Client) error { return drain(c.WebResources(ctx, "c")) }, "GET /v1/conversations/c/web-resources", ""},
	{"WebResource", func(ctx context.Context, c *Client) error { return ignore(c.WebResource(ctx, "c", "w")) }, "GET /v1/conversations/c/web-resources/w", ""},
	{"DeleteWebResource", func(ctx context.Context, c *Client) error { return c.DeleteWebResource(ctx, "c", "w") }, "DELETE /v1/conversations/c/web-resources/w", ""},
	{"Action", func(ctx context.Context, c *Client) error {
		return ignore(c.Action(ctx, "translate", "x", map[string]string{"language": "de"}))
	}, "POST /v1/actions/system/translate/calls", `{"args":{"language":"de"},"content":[{"type":"text","content":"x"}]}`},
	{"CustomAction", func(ctx context.Context, c *Client) error {
		return ignore(c.CustomAction(ctx, CustomAction{Prompt: "p", Model: "m", Output: "html", Content: "x"}))
	}, "POST /v1/actions/custom/calls", `{"content":[{"type":"text","content":"x"}],"model":"m","outputFormat":"html","prompt":"p"}`},
	{"Review", func(ctx context.Context, c *Client) error { return ignore(c.Review(ctx, "clarity", "<p>", nil)) }, "POST /v1/reviews/system/clarity/calls", `{"content":[{"type":"text","content":"<p>"}]}`},
	{"CustomReview", func(ctx context.Context, c *Client) error { return ignore(c.CustomReview(ctx, "p", "m", "<p>")) }, "POST /v1/reviews/custom/calls", `{"content":[{"type":"text","content":"<p>"}],"model":"m","prompt":"p"}`},
	{"ProcessDocuments", func(ctx context.Context, c *Client) error {
		return ignore(c.ProcessDocuments(ctx, Processing{Documents: []string{"<p>"}, Prompt: "p", Model: "m"}))
	}, "POST /v1/documents/process", `{"content":[{"type":"document","content":"<p>"}],"model":"m","prompt":"p"}`},
	{"StreamDocuments", func(ctx context.Context, c *Client) error {
		return ignore(c.StreamDocuments(ctx, Processing{Documents: []string{"<p>"}, Prompt: "p", Model: "m"}))
	}, "POST /v1/documents/process/stream", `{"content":[{"type":"document","content":"<p>"}],"model":"m","prompt":"p"}`},
	{"Usage", func(ctx context.Context, c *Client) error { return ignore(c.Usage(ctx, time.Time{}, time.Time{})) }, "POST /v1/admin/billing/usage", `{}`},
	{"Usage", func(ctx context.Context, c *Client) error {
		return ignore(c.Usage(ctx, time.Unix(0, 0), time.Unix(60, 0), AllUsers))
	}, "POST /v1/admin/billing/usage", `{"from":"1970-01-01T00:00:00Z","to":"1970-01-01T00:01:00Z","users":"*"}`},
	{"Usage", func(ctx context.Context, c *Client) error {
		return ignore(c.Usage(ctx, time.Time{}, time.Time{}, "a", "b"))
	}, "POST /v1/admin/billing/usage", `{"users":["a","b"]}`},
	{"AdminConversations", func(ctx context.Context, c *Client) error { return drain(c.AdminConversations(ctx, "u")) }, "GET /v1/admin/conversations?userId=u", ""},
	{"Contexts", func(ctx context.Context, c *Client) error { return drain(c.Contexts(ctx)) }, "GET /v1/contexts", ""},
	{"Context", func(ctx context.Context, c *Client) error { return ignore(c.Context(ctx, "x")) }, "GET /v1/contexts/x", ""},
	{"CreateContext", func(ctx context.Context, c *Client) error {
		return ignore(c.CreateContext(ctx, Context{Name: "n", AutoApply: []string{"chat"}}))
	}, "POST /v1/admin/contexts", `{"name":"n","autoApply":["chat"]}`},
	{"AdminContexts", func(ctx context.Context, c *Client) error { return drain(c.AdminContexts(ctx)) }, "GET /v1/admin/contexts", ""},
	{"AdminContext", func(ctx context.Context, c *Client) error { return ignore(c.AdminContext(ctx, "x")) }, "GET /v1/admin/contexts/x", ""},
	{"UpdateContext", func(ctx context.Context, c *Client) error {
		return ignore(c.UpdateContext(ctx, "x", Changes{"name": "m"}))
	}, "PATCH /v1/admin/contexts/x", `{"name":"m"}`},
	{"DeleteContext", func(ctx context.Context, c *Client) error { return c.DeleteContext(ctx, "x") }, "DELETE /v1/admin/contexts/x", ""},
	{"UploadContextFile", func(ctx context.Context, c *Client) error { return ignore(c.UploadContextFile(ctx, "x", textFile())) }, "POST /v1/admin/contexts/x/files", ""},
	{"FetchContextFile", func(ctx context.Context, c *Client) error {
		return ignore(c.FetchContextFile(ctx, "x", "https://example.com", "n"))
	}, "POST /v1/admin/contexts/x/files/from-url", `{"name":"n","url":"https://example.com"}`},
	{"ContextFiles", func(ctx context.Context, c *Client) error { return drain(c.ContextFiles(ctx, "x")) }, "GET /v1/admin/contexts/x/files", ""},
	{"ContextFile", func(ctx context.Context, c *Client) error { return ignore(c.ContextFile(ctx, "x", "f")) }, "GET /v1/admin/contexts/x/files/f", ""},
	{"DeleteContextFile", func(ctx context.Context, c *Client) error { return c.DeleteContextFile(ctx, "x", "f") }, "DELETE /v1/admin/contexts/x/files/f", ""},
	{"CreatePrompt", func(ctx context.Context, c *Client) error {
		return ignore(c.CreatePrompt(ctx, "x", Prompt{Name: "n", Prompt: "p"}))
	}, "POST /v1/admin/contexts/x/prompts", `{"name":"n","prompt":"p"}`},
	{"Prompts", func(ctx context.Context, c *Client) error { return drain(c.Prompts(ctx, "x")) }, "GET /v1/admin/contexts/x/prompts", ""},
	{"Prompt", func(ctx context.Context, c *Client) error { return ignore(c.Prompt(ctx, "x", "p")) }, "GET /v1/admin/contexts/x/prompts/p", ""},
	{"UpdatePrompt", func(ctx context.Context, c *Client) error {
		return ignore(c.UpdatePrompt(ctx, "x", "p", Changes{"prompt": "q"}))
	}, "PATCH /v1/admin/contexts/x/prompts/p", `{"prompt":"q"}`},
	{"DeletePrompt", func(ctx context.Context, c *Client) error { return c.DeletePrompt(ctx, "x", "p") }, "DELETE /v1/admin/contexts/x/prompts/p", ""},
	{"CreateContextLibrary", func(ctx context.Context, c *Client) error {
		return ignore(c.CreateContextLibrary(ctx, ContextLibrary{Name: "n", ContextIDs: []string{"x"}}))
	}, "POST /v1/admin/context-libraries", `{"name":"n","contextIds":["x"]}`},
	{"ContextLibraries", func(ctx context.Context, c *Client) error { return drain(c.ContextLibraries(ctx)) }, "GET /v1/admin/context-libraries", ""},
	{"ContextLibrary", func(ctx context.Context, c *Client) error { return ignore(c.ContextLibrary(ctx, "l")) }, "GET /v1/admin/context-libraries/l", ""},
	{"UpdateContextLibrary", func(ctx context.Context, c *Client) error {
		return ignore(c.UpdateContextLibrary(ctx, "l", Changes{"name": "m"}))
	}, "PATCH /v1/admin/context-libraries/l", `{"name":"m"}`},
	{"DeleteContextLibrary", func(ctx context.Context, c *Client) error { return c.DeleteContextLibrary(ctx, "l") }, "DELETE /v1/admin/context-libraries/l", ""},
}

// recorder returns a handler whose answer every method accepts, and a function that returns the
// last request.
func recorder(t *testing.T) (http.HandlerFunc, func() (call, body string)) {
	t.Helper()
	type asked struct{ call, body string }
	heard := make(chan asked, 10)
	return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if token := r.Header.Get("Authorization"); token != "Bearer "+secret && (!strings.Contains("/health /v1/doc.json", r.URL.Path) || token != "") {
				t.Errorf("%s: token %q", r.URL.Path, token)
			}
			if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
				body = nil
			}
			heard <- asked{r.Method + " " + r.URL.RequestURI(), string(body)}
			answer := `{"id":"1","items":[],"environment":{"credits":1},"paths":{},"users":[{"id":"a","credits":1},{"id":"b","credits":0}],"documents":[{}]}`
			if strings.HasPrefix(string(body), "[") {
				answer = `[{"id":"1"},{"id":"2"}]`
			}
			if strings.Contains(r.Header.Get("Accept"), "event-stream") {
				answer = ""
			}
			_, _ = io.WriteString(w, answer)
		}, func() (string, string) {
			got := <-heard
			return got.call, got.body
		}
}

func TestEveryRoute(t *testing.T) {
	handler, heard := recorder(t)
	c := serve(t, Options{Language: "de"}, handler)
	var called []Endpoint
	for _, one := range calls {
		called = append(called, one.endpoint)
		if err := one.call(t.Context(), c); err != nil {
			t.Errorf("%s: %v", one.endpoint, err)
			continue
		}
		if call, body := heard(); call != one.want || body != one.body {
			t.Errorf("%s: got %s with %s\nwant %s with %s", one.endpoint, call, body, one.want, one.body)
		}
	}
	for endpoint := range DefaultRoutes() {
		if !slices.Contains(called, endpoint) && endpoint != "DescriptionOnPremises" { // only called if the other description is missing
			t.Errorf("%s is never called", endpoint)
		}
	}
}

func TestRoutes(t *testing.T) {
	routes, err := ParseRoutes([]string{"StreamDocuments = POST /v2/documents", "UpdateConversation=put /x/{conversationId}", "Files=/v3/{conversationId}/all"})
	if err != nil {
		t.Fatal(err)
	}
	handler, heard := recorder(t)
	c := serve(t, Options{Routes: routes}, handler)
	for want, call := range map[string]func() error{
		"POST /v2/documents": func() error { return ignore(c.StreamDocuments(t.Context(), Processing{})) },
		"PUT /x/c":           func() error { return c.PinConversation(t.Context(), "c", false) },
		"GET /v3/c/all":      func() error { return drain(c.Files(t.Context(), "c")) },
	} {
		if err := call(); err != nil {
			t.Error(err)
			continue
		}
		if got, _ := heard(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, line := range []string{"", "Files", "Files=", "Nothing=GET /x", "Files=GET x", "Files=GET /v1/files", "Files=GET /{conversationId}/{x}", "Files=GET /{conversationId}?x"} {
		if _, err := ParseRoutes([]string{line}); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
	if _, err := New(Options{BaseURL: closedURL, Tokens: &tokens{}, Routes: Routes{"Nothing": {}}}); err == nil {
		t.Error("an unknown endpoint: no error")
	}
}

// The test verifies that a version at the end of the base URL is ignored, because each endpoint has
// its own.
func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"https://ai.cke-cs.com": "https://ai.cke-cs.com", "https://ai.cke-cs.com/v1": "https://ai.cke-cs.com", "https://ai.cke-cs.com/v1/": "https://ai.cke-cs.com",
		"https://example.com/ai/v1.1/": "https://example.com/ai", "https://example.com/v1x": "https://example.com/v1x", "http://localhost:8000/": "http://localhost:8000",
	} {
		c, err := New(Options{BaseURL: base, Tokens: &tokens{}})
		if err != nil || c.base.String() != want {
			t.Errorf("%s: got %v, %v, want %s", base, c, err, want)
		}
	}
	for _, base := range []string{"", "example.com", "http://example.com", "https://u:" + secret + "@example.com", "https://example.com/?k=" + secret} {
		if _, err := New(Options{BaseURL: base, Tokens: &tokens{}}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", base, err)
		}
	}
	if _, err := New(Options{BaseURL: closedURL}); err == nil {
		t.Error("no tokens: no error")
	}
}

func TestNoID(t *testing.T) {
	c := newClient(t, Options{BaseURL: closedURL})
	for _, id := range []string{"", ".", ".."} {
		if err := c.DeleteConversation(t.Context(), id); err == nil || !strings.Contains(err.Error(), "not an ID") {
			t.Errorf("%q: got %v", id, err)
		}
	}
	if _, err := c.CreateConversation(t.Context(), NewConversation{}); err == nil {
		t.Error("a conversation without an ID: no error")
	}
}
