package aiservice_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

// site returns a web site on this machine.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	page := func(path, contentType, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(text))
		})
	}
	page("/page", "text/html; charset=utf-8", "<title>\n A &amp; B </title><p>Hello</p>")
	page("/style.txt", "text/plain", "Write short sentences.")
	page("/empty", "text/html", " \n")
	page("/film", "video/mp4", "x")
	page("/untyped", "", "x")
	page("/large", "text/plain", strings.Repeat("x", 10_000_001))
	mux.Handle("/elsewhere", http.RedirectHandler("http://192.0.2.1/", http.StatusFound))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestWebResources(t *testing.T) {
	web := site(t)
	c := start(t, aiservice.Options{})
	path := c.conversation("one") + "/web-resources"
	id := c.must("POST", path, map[string]any{"url": web.URL + "/page", "attributes": map[string]any{"label": "L"}})["id"].(string)
	got := c.must("GET", path+"/"+id, nil)
	if got["title"] != "A & B" || got["type"] != "text/html" || got["url"] != web.URL+"/page" || got["attributes"].(map[string]any)["label"] != "L" {
		t.Errorf("kept %v", got)
	}
	c.say("/v1/conversations/one", map[string]any{"prompt": "Sum it up.", "content": []any{map[string]any{"type": "web-resource", "id": id}}})
	for _, url := range []string{
		web.URL + "/none", web.URL + "/empty", web.URL + "/film", web.URL + "/untyped", web.URL + "/large", web.URL + "/elsewhere",
		"http://192.0.2.1/", "http://[2001:db8::1]/", "file:///etc/passwd", "http://", "ftp://127.0.0.1/x", "http://user:secret@127.0.0.1/", "::",
	} {
		data := c.refused("POST", path, map[string]any{"url": url}, 422, "web-resource-download-error")
		if data != nil {
			t.Errorf("%s: data %v", url, data)
		}
	}
	c.refused("POST", path, map[string]any{}, 400, "invalid-request-data")
	c.refused("POST", path, map[string]any{"url": web.URL, "attributes": "x"}, 400, "invalid-request-data")
	c.refused("POST", "/v1/conversations/none/web-resources", map[string]any{"url": web.URL}, 404, "conversation-not-found")
	if all := c.items(path); len(all) != 1 {
		t.Errorf("there are %v", all)
	}
	c.must("DELETE", path+"/"+id, nil)
	for _, method := range []string{"GET", "DELETE"} {
		c.refused(method, path+"/"+id, nil, 404, "web-resource-not-found")
	}
	c.as("tester", "ai:conversations:write").refused("POST", path, map[string]any{"url": web.URL}, 403, "missing-permissions")
}

func TestContexts(t *testing.T) {
	web := site(t)
	c := start(t, aiservice.Options{})
	const all = "/v1/admin/contexts"
	path := all + "/" + c.must("POST", all, map[string]any{"name": "Style", "instructions": "Be brief.", "autoApply": []string{"conversations"}})["id"].(string)
	c.must("PATCH", path, map[string]any{"description": "How we write"})
	got := c.must("GET", path, nil)
	if got["name"] != "Style" || got["description"] != "How we write" || got["instructions"] != "Be brief." || got["autoApply"].([]any)[0] != "conversations" {
		t.Errorf("context %v", got)
	}
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":"x","autoApply":["everything"]}`, `{"name":7}`} {
		c.refused("POST", all, body, 400, "invalid-request-data")
	}
	c.refused("PATCH", path, `{"name":""}`, 400, "invalid-request-data")

	file := c.must("POST", path+"/files/from-url", map[string]any{"url": web.URL + "/style.txt"})["id"].(string)
	if got := c.must("GET", path+"/files/"+file, nil); got["name"] != "style.txt" || got["type"] != "text/plain" {
		t.Errorf("file %v", got)
	}
	c.refused("POST", path+"/files/from-url", map[string]any{"url": web.URL + "/none"}, 422, "web-resource-download-error")
	c.refused("POST", path+"/files/from-url", map[string]any{}, 400, "invalid-request-data")
	c.refused("POST", path+"/files/from-url", map[string]any{"url": web.URL + "/page", "name": "a.png"}, 415, "unsupported-file-type")
	c.wantRefusal("GIF", c.upload(path+"/files", "a.gif", "", []byte("GIF89a"), ""), 415, "unsupported-file-type")

	prompt := c.must("POST", path+"/prompts", map[string]any{"name": "P", "prompt": "Describe it."})["id"].(string)
	c.must("PATCH", path+"/prompts/"+prompt, map[string]any{"name": "Q"})
	if got := c.must("GET", path+"/prompts/"+prompt, nil); got["name"] != "Q" || got["prompt"] != "Describe it." {
		t.Errorf("prompt %v", got)
	}
	c.refused("POST", path+"/prompts", map[string]any{"name": "P"}, 400, "invalid-request-data")

	id := got["id"].(string)
	if ids := column(c.as("reader", "ai:contexts:read").items("/v1/contexts"), "id"); len(ids) != 1 || ids[0] != id {
		t.Errorf("a reader sees %v", ids)
	}
	c.must("GET", "/v1/contexts/"+id, nil)
	conversation := c.conversation("one")
	c.say(conversation, map[string]any{"content": []any{
		map[string]any{"type": "context", "id": id}, map[string]any{"type": "context", "id": id, "fileId": file},
		map[string]any{"type": "context", "id": id, "promptId": prompt},
	}})
	m := c.items(conversation + "/messages")[0].(map[string]any)
	if referred := m["content"].([]any)[2].(map[string]any); m["prompt"] != nil || referred["promptId"] != prompt {
		t.Errorf("the message is %v: it does not keep the reference only", m)
	}
	item := func(key string) map[string]any {
		return map[string]any{"prompt": "x", "model": "agent-1", "content": []any{map[string]any{"type": "context", "id": id, key: "none"}}}
	}
	c.refused("POST", conversation+"/messages", item("fileId"), 404, "file-not-found")
	c.refused("POST", conversation+"/messages", item("promptId"), 404, "prompt-not-found")

	for _, p := range []string{"/prompts/" + prompt, "/files/" + file} {
		c.must("DELETE", path+p, nil)
		if a := c.try("GET", path+p, nil); a.status != 404 {
			t.Errorf("%s is still there: %s", p, a.text)
		}
		if a := c.try("DELETE", path+p, nil); a.status != 404 {
			t.Errorf("%s was deleted twice: %s", p, a.text)
		}
	}
	c.must("DELETE", path, nil)
	for _, method := range []string{"GET", "DELETE", "PATCH"} {
		c.refused(method, path, `{"name":"x"}`, 404, "context-not-found")
	}
	c.refused("POST", path+"/prompts", `{"name":"x","prompt":"y"}`, 404, "context-not-found")
}

func TestContextLibraries(t *testing.T) {
	c := start(t, aiservice.Options{})
	const all = "/v1/admin/context-libraries"
	context := func() string { return c.must("POST", "/v1/admin/contexts", map[string]any{"name": "c"})["id"].(string) }
	first, second := context(), context()
	path := all + "/" + c.must("POST", all, map[string]any{"name": "L", "contextIds": []string{first}})["id"].(string)
	c.must("PATCH", path, map[string]any{"contextIds": []string{second, first}})
	c.must("DELETE", "/v1/admin/contexts/"+first, nil)
	if got := c.must("GET", path, nil); got["name"] != "L" || len(got["contextIds"].([]any)) != 1 || got["contextIds"].([]any)[0] != second {
		t.Errorf("library %v", got)
	}
	c.refused("POST", all, map[string]any{"contextIds": []string{second}}, 400, "invalid-request-data")
	c.refused("POST", all, map[string]any{"name": "x", "contextIds": []string{first}}, 404, "context-not-found")
	c.must("DELETE", path, nil)
	for _, method := range []string{"GET", "DELETE"} {
		c.refused(method, path, nil, 404, "context-library-not-found")
	}
	c.refused("PATCH", path, `{"name":"x"}`, 404, "context-library-not-found")
}
