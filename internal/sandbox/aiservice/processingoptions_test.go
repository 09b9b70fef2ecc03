package aiservice_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

// The test verifies that images are fetched with the headers for their domain, and no others.
func TestProcessingOptions(t *testing.T) {
	c := start(t, aiservice.Options{})
	var let, others atomic.Int64
	pictures := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Other") != "" {
			others.Add(1)
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		let.Add(1)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture(t, 4, 3))
	}))
	defer pictures.Close()
	headers := []any{
		map[string]any{"domain": pictures.URL + "/", "headers": map[string]string{"authorization": "Bearer secret"}},
		map[string]any{"domain": "example.com", "headers": map[string]string{"other": "x"}},
	}
	body := map[string]any{
		"content": []any{map[string]string{"type": "document", "content": `<img src="` + pictures.URL + `/a.png">`}},
		"prompt":  "Add an alt text to each image.", "model": "agent-1",
		"extraHttpHeaders": headers, "capabilities": map[string]any{"webSearch": map[string]any{}, "reasoning": map[string]any{}},
	}
	c.must("POST", "/v1/documents/process", body)
	if let.Load() == 0 || others.Load() > 0 {
		t.Errorf("%d pictures were had, and %d with headers for others", let.Load(), others.Load())
	}
	for _, wrong := range []map[string]any{
		{"capabilities": map[string]any{"webSearch": true}}, {"capabilities": map[string]any{"search": map[string]any{}}},
		{"extraHttpHeaders": []any{map[string]any{"domain": "example.com"}}}, {"extraHttpHeaders": map[string]any{}}, {"fragments": true},
	} {
		for key, value := range body {
			if _, is := wrong[key]; !is {
				wrong[key] = value
			}
		}
		c.refused("POST", "/v1/documents/process", wrong, 400, "invalid-request-data")
	}
}
