package ai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The test verifies that options of document processing are sent unchanged, whatever their names.
func TestProcessingOptions(t *testing.T) {
	sent := ""
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		_, _ = io.WriteString(w, `{"documents":[{"document":"d","summary":"s"}]}`)
	})
	p := Processing{Documents: []string{"<p>"}, Prompt: "p", Model: "m", Options: map[string]json.RawMessage{
		"capabilities": json.RawMessage(`{"webSearch":{}}`), "response_format": json.RawMessage(`"fragment"`),
	}}
	if _, err := c.ProcessDocuments(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if want := `{"capabilities":{"webSearch":{}},"content":[{"type":"document","content":"<p>"}],"model":"m","prompt":"p","response_format":"fragment"}`; sent != want {
		t.Errorf("got %s\nwant %s", sent, want)
	}
	if r := p.request("ProcessDocuments"); r.cost.Search != 1 || r.cost.LLM != 1 {
		t.Errorf("a search is not counted: %+v", r.cost)
	}
	for _, name := range []string{"content", "prompt", "model", ""} {
		p.Options = map[string]json.RawMessage{name: json.RawMessage(`1`)}
		if err := p.CheckOptions(); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
	p.Options = map[string]json.RawMessage{"x": json.RawMessage(`{`)}
	if err := p.CheckOptions(); err == nil {
		t.Error("no JSON: no error")
	}
}

// The test verifies that no error contains secret options, even if the service repeats them.
func TestProcessingOptionsStaySecret(t *testing.T) {
	const password = `pass"word-of-images`
	for _, status := range []int{400, 500, 200} {
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": "x", "message": "not like this: " + string(body), "data": map[string]any{"issues": string(body), "seen": password}})
		})
		c.policy.Attempts = 1
		headers, _ := json.Marshal([]any{map[string]any{"domain": "example.com", "headers": map[string]string{"authorization": "Bearer " + password}}})
		_, err := c.ProcessDocuments(t.Context(), Processing{
			Documents: []string{"x"}, Prompt: "p", Model: "m",
			Options: map[string]json.RawMessage{"extraHttpHeaders": headers}, Secret: map[string]bool{"extraHttpHeaders": true},
		})
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("%d: got %v", status, err)
		}
		data, _ := json.Marshal(e.Data)
		if all := err.Error() + e.Hint() + string(data); strings.Contains(all, "word-of-images") {
			t.Errorf("%d: the password is in %s", status, all)
		}
	}
}
