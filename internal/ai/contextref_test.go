package ai

import (
	"errors"
	"strings"
	"testing"
)

func TestParseContextRef(t *testing.T) {
	for text, want := range map[string]ContextRef{
		"c1":           {ID: "c1"},
		"c1/prompt/p1": {ID: "c1", PromptID: "p1"},
		"c1/file/f1":   {ID: "c1", FileID: "f1"},
	} {
		if got, err := ParseContextRef(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %q, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "/", "c1/", "c1/p1", "c1/page/p1", "c1/file/", "c1/file/f1/x", " c1"} {
		if got, err := ParseContextRef(text); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

// The test verifies that contexts without listed parts are accepted, because only a call shows
// whether these exist, and that a missing list does not count as a missing context.
func TestFindContexts(t *testing.T) {
	refs := []ContextRef{{ID: "b", PromptID: "p"}, {ID: "a"}}
	client := serve(t, Options{}, answer(200, "application/json", `{"items":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}`))
	found, err := client.FindContexts(t.Context(), refs)
	if err != nil || len(found) != 2 || found[0].Name != "B" || found[1].Name != "A" {
		t.Errorf("got %+v, %v", found, err)
	}
	client = serve(t, Options{}, refuse(404, `{"statusCode":404,"code":"not-found","message":"m","traceId":"t"}`))
	if _, err := client.FindContexts(t.Context(), refs); err == nil || errors.Is(err, ErrContext) || !strings.Contains(err.Error(), "GET /v1/contexts") {
		t.Errorf("got %v", err)
	}
}
