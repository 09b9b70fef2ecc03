package aiservice_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

// TestEveryRouteSucceeds calls each route successfully. It compares all responses with the
// description, including the fields of events.
func TestEveryRouteSucceeds(t *testing.T) {
	c := start(t, aiservice.Options{Credits: 100})
	callService(c)
	callConversations(c)
	callAttachments(c)
	callWithoutHistory(c)
	callContexts(c)
	callLibraries(c)
	callAdministration(c)
	called := c.Checker.Called()
	for _, op := range c.Checker.Operations() {
		if !slices.Contains(called, op) {
			t.Errorf("%s is never called", op)
		}
	}
}

func callService(c *client) {
	anonymous := *c
	anonymous.token = ""
	for _, path := range []string{"/health", "/docs", "/docs/", "/v1/docs", "/v1/doc.json", "/v1/api/doc.json", c.Server.TokenPath() + "?user=u&permission=ai:models:agent&life=60", "/_sandbox/stats"} {
		if a := anonymous.try("GET", path, nil); a.status >= 400 {
			c.Errorf("GET %s: %d %s", path, a.status, a.text)
		}
	}
	if items := c.items("/v1/models/1?language=de"); len(items) == 0 {
		c.Error("there are no models")
	}
}

func callConversations(c *client) {
	path := c.conversation("talk")
	c.must("PATCH", path, map[string]any{"title": "A talk", "pinned": true})
	if v := c.must("GET", path, nil); v["title"] != "A talk" || v["pinned"] != true {
		c.Errorf("got %v", v)
	}
	c.say(path, map[string]any{"prompt": "Hello"})
	if _, err := c.stream(path+"/messages", map[string]any{"prompt": "Hello again", "model": "agent-1"}); err != nil {
		c.Error(err)
	}
	if all := c.items(path + "/messages?limit=3"); len(all) != 3 {
		c.Errorf("%d messages", len(all))
	}
	if all := c.items("/v1/conversations?group=tests&sortBy=updatedAt&order=asc&excludeEmpty=true"); len(all) != 1 {
		c.Errorf("%d conversations", len(all))
	}
	c.must("DELETE", path, nil)
}

func callAttachments(c *client) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>A page</title><p>Read it.")
	}))
	defer page.Close()
	path := c.conversation("attached")
	document := map[string]any{"content": "<p>teh cat</p>", "name": "Cat", "attributes": map[string]any{"version": 1}}
	if a := c.try("POST", path+"/documents/batch", []any{document, document}); a.status != http.StatusCreated {
		c.Errorf("two documents: %d %s", a.status, a.text)
	}
	made := map[string]any{
		"/documents":     c.must("POST", path+"/documents", document)["id"],
		"/files":         c.file(path, "red-car.png", "image/png", picture(c, 4, 3)),
		"/web-resources": c.must("POST", path+"/web-resources", map[string]any{"url": page.URL, "attributes": map[string]any{"label": "l"}})["id"],
	}
	for list, id := range made {
		one := fmt.Sprint(path, list, "/", id)
		if v := c.must("GET", one, nil); v["id"] != id || len(c.items(path+list)) == 0 {
			c.Errorf("GET %s: %v", one, v)
		}
		c.must("DELETE", one, nil)
		c.refused("GET", one, nil, 404, strings.TrimSuffix(list[1:], "s")+"-not-found")
	}
}

func callWithoutHistory(c *client) {
	content := []any{map[string]string{"type": "text", "content": `<p data-id="a">teh cat</p><p data-id="b">A dog</p>`}}
	custom := map[string]any{"content": content, "prompt": "Put it into capitals", "model": "agent-1"}
	for _, call := range []struct {
		path, event string
		body        any
	}{
		{"/v1/actions/system/fix-grammar/calls", "modification-delta", map[string]any{"content": content}},
		{"/v1/actions/custom/calls", "modification-delta", custom},
		{"/v1/reviews/system/translate/calls", "review-delta", map[string]any{"content": content, "args": map[string]string{"language": "German"}}},
		{"/v1/reviews/custom/calls", "review-delta", custom},
	} {
		all, err := c.stream(call.path, call.body)
		if err != nil || text(all, call.event) == "" {
			c.Errorf("POST %s: %v, %v", call.path, all, err)
		}
	}
	processing := map[string]any{"prompt": "Correct it", "model": "agent-1", "content": []any{map[string]string{"type": "document", "content": "<p>teh cat"}}}
	documents := c.must("POST", "/v1/documents/process", processing)["documents"].([]any)
	all, err := c.stream("/v1/documents/process/stream", processing)
	want := map[string]any{"document": text(all, "document-delta"), "summary": text(all, "summary-delta")}
	if err != nil || want["document"] != "<p>The cat" || fmt.Sprint(documents) != fmt.Sprint([]any{want}) {
		c.Errorf("%v and %v, %v", documents, want, err)
	}
}

func callContexts(c *client) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "Rules.")
	}))
	defer page.Close()
	const all = "/v1/admin/contexts"
	id := c.must("POST", all, map[string]any{"name": "House style", "instructions": "Be brief.", "autoApply": []string{"conversations"}})["id"].(string)
	one := all + "/" + id
	if v := c.must("PATCH", one, map[string]any{"description": "Ours"}); v["name"] != "House style" || v["description"] != "Ours" {
		c.Errorf("got %v", v)
	}
	for _, path := range []string{all, "/v1/contexts"} {
		if v := c.must("GET", path+"/"+id, nil); v["id"] != id || len(c.items(path)) != 1 {
			c.Errorf("GET %s: %v", path, v)
		}
	}
	uploaded := c.upload(one+"/files", "rules.txt", "text/plain", []byte("Rules."), "").json(c)["id"]
	c.must("POST", one+"/files/from-url", map[string]any{"url": page.URL + "/more.txt"})
	prompt := c.must("POST", one+"/prompts", map[string]any{"name": "Describe", "prompt": "Describe it."})["id"]
	c.must("PATCH", fmt.Sprint(one, "/prompts/", prompt), map[string]any{"name": "Describe again"})
	if files, prompts := len(c.items(one+"/files")), len(c.items(one+"/prompts")); files != 2 || prompts != 1 {
		c.Errorf("%d files, %d prompts", files, prompts)
	}
	talk := c.conversation("with-context")
	c.say(talk, map[string]any{"content": []any{map[string]any{"type": "context", "id": id, "promptId": prompt}, map[string]any{"type": "context", "id": id, "fileId": uploaded}}})
	for _, path := range []string{fmt.Sprint(one, "/files/", uploaded), fmt.Sprint(one, "/prompts/", prompt), one} {
		c.must("GET", path, nil)
		c.must("DELETE", path, nil)
	}
}

func callLibraries(c *client) {
	context := c.must("POST", "/v1/admin/contexts", map[string]any{"name": "One"})["id"]
	const all = "/v1/admin/context-libraries"
	id := c.must("POST", all, map[string]any{"name": "Both", "contextIds": []any{context}})["id"].(string)
	if v := c.must("PATCH", all+"/"+id, map[string]any{"name": "All"}); v["name"] != "All" || fmt.Sprint(v["contextIds"]) != fmt.Sprint([]any{context}) {
		c.Errorf("got %v", v)
	}
	c.must("DELETE", fmt.Sprint("/v1/admin/contexts/", context), nil)
	if v := c.must("GET", all+"/"+id, nil); len(v["contextIds"].([]any)) != 0 || len(c.items(all)) != 1 {
		c.Errorf("got %v", v)
	}
	c.must("DELETE", all+"/"+id, nil)
}

func callAdministration(c *client) {
	used := c.must("POST", "/v1/admin/billing/usage", map[string]any{"from": "2000-01-01T00:00:00Z", "users": []string{"tester", "nobody"}})
	environment, users := used["environment"].(map[string]any), used["users"].([]any)
	if environment["credits"].(float64) <= 0 || environment["allowance"] != float64(100) || len(users) != 2 ||
		users[0].(map[string]any)["credits"] != environment["credits"] || users[1].(map[string]any)["credits"] != float64(0) {
		c.Errorf("used %v", used)
	}
	if all := c.must("POST", "/v1/admin/billing/usage", map[string]any{"users": "*"})["users"].([]any); len(all) != 1 {
		c.Errorf("active: %v", all)
	}
	c.refused("POST", "/v1/admin/billing/usage", map[string]any{"users": "tester"}, 400, "invalid-request-data")
	if all := c.items("/v1/admin/conversations?userId=tester"); len(all) != 2 || all[0].(map[string]any)["userId"] != "tester" {
		c.Errorf("conversations %v", all)
	}
}
