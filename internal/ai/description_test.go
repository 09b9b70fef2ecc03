package ai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// describing serves only a description at a path.
func describing(t *testing.T, path, description string) *Client {
	return serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path || r.Header.Get("Authorization") != "" {
			answer(404, "application/json", `{"message":"no"}`)(w, r)
			return
		}
		_, _ = io.WriteString(w, description)
	})
}

func comparison(t *testing.T, c *Client, endpoint Endpoint) Comparison {
	t.Helper()
	d, err := c.Description(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := c.Compare(d)
	i := slices.IndexFunc(all, func(c Comparison) bool { return c.Endpoint == endpoint })
	if i < 0 || len(all) != len(DefaultRoutes())-2 {
		t.Fatalf("%s: not among %d", endpoint, len(all))
	}
	return all[i]
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		endpoint    Endpoint
		description string
		want        string
	}{
		{"CreateConversation", `{"paths":{"/v1/conversations":{"post":{},"parameters":[]}}}`, "confirmed"},
		{"Conversation", `{"paths":{"/v1/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"paths":{"/v1/conversations/:id/":{"GET":{}}}}`, "confirmed"},
		{"Conversation", `{"servers":[{"url":"https://ai.cke-cs.com/v1"}],"paths":{"/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"servers":[{"url":"/v1/"}],"paths":{"/v1/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"servers":[{"url":".."}],"paths":{"/v1/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"servers":[{"url":"."}],"paths":{"/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"servers":[{"url":"https://{region}.example.com/v1"}],"paths":{"/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"swagger":"2.0","basePath":"/v1","paths":{"/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Conversation", `{"paths":{"/conversations/{id}":{"get":{}}}}`, "confirmed"},
		{"Health", `{"servers":[{"url":"https://a"},{"url":"https://b/v1"}],"paths":{"/health":{"get":{}}}}`, "confirmed"},
		{"UpdateConversation", `{"paths":{"/v1/conversations/{id}":{"get":{},"put":{},"delete":{}}}}`, "UpdateConversation=PUT /v1/conversations/{conversationId}"},
		{"UpdateConversation", `{"paths":{"/v1/conversations/{id}":{"get":{},"delete":{}}}}`, "missing"},
		{"Send", `{"paths":{"/v1/conversations/{id}/messages":{"get":{},"post":{}}}}`, "Send=POST /v1/conversations/{conversationId}/messages"},
		{"Send", `{"paths":{"/v1.1/conversations/{id}/messages":{"post":{}},"/v1/conversations/{id}/messages":{"post":{}}}}`, "confirmed"},
		{"AddDocuments", `{"paths":{"/v1/conversations/{a}/documents":{"post":{}},"/v1/conversations/{a}/documents/bulk":{"post":{}}}}`, "AddDocuments=POST /v1/conversations/{conversationId}/documents/bulk"},
		{"Files", `{"paths":{"/v1/conversations/{a}/documents":{"get":{}},"/v1/conversations/{a}/messages":{"get":{}}}}`, "missing"},
		{"CreateContext", `{"paths":{"/v1/admin/context-library/contexts":{"get":{},"post":{}}}}`, "CreateContext=POST /v1/admin/context-library/contexts"},
		{"DeletePrompt", `{"paths":{"/v2/admin/contexts/{context}/prompts/{prompt}":{"get":{},"delete":{}}}}`, "DeletePrompt=DELETE /v2/admin/contexts/{contextId}/prompts/{promptId}"},
		{"DeletePrompt", `{"paths":{"/v2/admin/contexts/{promptId}/prompts/{contextId}":{"delete":{}}}}`, "DeletePrompt=DELETE /v2/admin/contexts/{promptId}/prompts/{contextId}"},
		{"DeleteContext", `{"paths":{"/v1/admin/contexts":{"delete":{}}}}`, "missing"},
		{"ContextFiles", `{"paths":{"/v2/admin/contexts/{a}/files":{"get":{}}}}`, "ContextFiles=GET /v2/admin/contexts/{contextId}/files"},
		{"Prompts", `{"paths":{"/v2/admin/contexts/{a}/files":{"get":{}}}}`, "missing"},
		{"Prompts", `{"paths":{"/v2/admin/contexts/{a}/prompts":{"get":{}},"/v3/admin/contexts/{a}/prompts":{"get":{}}}}`, "missing"},
		{"Usage", `{"paths":{}}`, "missing"},
		{"Usage", `{"paths":{"/v2/admin/billing/usage?all":{"post":{}}}}`, "missing"},
		{"Usage", `{"paths":{"/v2/admin/billing/usage#all":{"post":{}}}}`, "missing"},
		{"Usage", `{"paths":{"/v2/admin/billing/usage/\nai_url":{"post":{}}}}`, "missing"},
		{"Usage", `{"servers":[{"url":"/a%1b[2Jb/v2"}],"paths":{"/admin/billing/usage":{"post":{}}}}`, "missing"},
		{"Usage", `{"paths":{"/v1/admin/billing/usage":null,"/v1/x":{"$ref":"#/y"}}}`, "missing"},
	} {
		got := comparison(t, describing(t, "/v1/doc.json", test.description), test.endpoint)
		said := string(got.Standing)
		if got.Standing == Moved {
			said = got.Setting()
			if _, err := ParseRoutes([]string{said}); err != nil {
				t.Errorf("%s: %v", said, err)
			}
		}
		if said != test.want {
			t.Errorf("%s by %s: got %s, want %s", test.endpoint, test.description, said, test.want)
		}
	}
}

// The test verifies a base URL with a path, which a description may contain or omit.
func TestCompareBelowAPath(t *testing.T) {
	for _, description := range []string{
		`{"servers":[{"url":"https://example.com/ai/v1"}],"paths":{"/conversations":{"post":{}}}}`,
		`{"servers":[{"url":"/ai"}],"paths":{"/v1/conversations":{"post":{}}}}`,
		`{"paths":{"/v1/conversations":{"post":{}}}}`,
	} {
		c := describing(t, "/ai/v1/doc.json", description)
		c.base.Path = "/ai"
		if got := comparison(t, c, "CreateConversation"); got.Standing != Confirmed {
			t.Errorf("%s: got %+v", description, got)
		}
	}
}

func TestDescriptionOnPremises(t *testing.T) {
	c := describing(t, "/v1/api/doc.json", `{"paths":{"/v1/conversations":{"post":{}}}}`)
	if d, err := c.Description(t.Context()); err != nil || d.Path != "/v1/api/doc.json" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// The test verifies that the client sends a token if the service requires one for its description.
// The documentation is contradictory.
func TestDescriptionThatTakesAToken(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			answer(401, "application/json", `{"message":"no token"}`)(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"paths":{"/v1/conversations":{"post":{}}}}`)
	})
	if d, err := c.Description(t.Context()); err != nil || d.Path != "/v1/doc.json" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// The test verifies that an invalid description is an error, and that reading it ends.
func TestNoDescription(t *testing.T) {
	for name, description := range map[string]string{
		"html": "<html>", "a list": "[]", "another object": `{"items":[]}`, "paths of another kind": `{"paths":[]}`,
		"too long": fmt.Sprintf(`{"paths":{},"x":%q}`, strings.Repeat("x", maxDescription)),
	} {
		if _, err := describing(t, "/v1/doc.json", description).Description(t.Context()); !errors.Is(err, ErrNoDescription) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := describing(t, "/", "").Description(t.Context()); !errors.Is(err, ErrNoDescription) {
		t.Errorf("none: got %v", err)
	}
	c := serve(t, Options{}, answer(503, "text/plain", "later"))
	if _, err := c.Description(t.Context()); err == nil || errors.Is(err, ErrNoDescription) {
		t.Errorf("busy: got %v", err)
	}
}
