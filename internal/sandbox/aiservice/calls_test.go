package aiservice_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
)

const twoParagraphs = `<p data-id="a">Teh first one.</p><p data-id="b">Fine.</p>`

func texts(content string) []any {
	return []any{map[string]any{"type": "text", "content": content}}
}

func TestActions(t *testing.T) {
	c := start(t, aiservice.Options{})
	for _, name := range []string{
		"continue", "fix-grammar", "improve-writing", "make-longer", "make-shorter", "make-tone-casual", "make-tone-direct", "make-tone-formal",
		"make-tone-friendly", "make-tone-confident", "make-tone-professional", "translate",
	} {
		all, err := c.stream("/v1/actions/system/"+name+"/calls", map[string]any{"content": texts("Teh text."), "args": map[string]string{"language": "German"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := names(all); !slices.Equal(got, []string{"action-metadata", "modification-delta", "done"}) || text(all, "modification-delta") == "" {
			t.Errorf("%s: %v", name, got)
		}
		if id := all[0].data["callId"]; len(id.(string)) != 21 || all[1].data["id"] == "" {
			t.Errorf("%s: %v", name, all[:2])
		}
	}
	for format, event := range map[string]string{"": "modification-delta", "html": "modification-delta", "plainText": "text-delta"} {
		request := map[string]any{"content": texts("Text."), "prompt": "In capitals", "model": "agent-1"}
		if format != "" {
			request["outputFormat"] = format
		}
		all, err := c.stream("/v1/actions/custom/calls", request)
		if err != nil || text(all, event) == "" {
			t.Errorf("%q: %v, %v", format, names(all), err)
		}
	}
	if s := c.Stats(t); s.BilledRequests != 15 {
		t.Errorf("%d calls were billed, want 15", s.BilledRequests)
	}
}

func TestReviews(t *testing.T) {
	c := start(t, aiservice.Options{})
	for _, name := range []string{
		"correctness", "clarity", "readability", "make-longer", "make-shorter", "make-tone-casual", "make-tone-direct", "make-tone-friendly",
		"make-tone-confident", "make-tone-professional", "translate",
	} {
		all, err := c.stream("/v1/reviews/system/"+name+"/calls", map[string]any{"content": texts(twoParagraphs), "args": map[string]string{"language": "German"}})
		if err != nil || all[0].name != "review-metadata" || all[len(all)-1].name != "done" {
			t.Errorf("%s: %v, %v", name, names(all), err)
		}
		for _, e := range all[1 : len(all)-1] {
			if id := e.data["dataId"]; e.name != "review-delta" || id != "a" && id != "b" {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
	all, err := c.stream("/v1/reviews/system/correctness/calls", map[string]any{"content": texts(twoParagraphs)})
	if got := text(all, "review-delta"); err != nil || !strings.Contains(got, "The first one.") || strings.Contains(got, "Fine") {
		t.Errorf("correctness suggests %s, %v", got, err)
	}
	if all, err = c.stream("/v1/reviews/custom/calls", map[string]any{"content": texts(twoParagraphs), "prompt": "In capitals", "model": "agent-1"}); err != nil {
		t.Errorf("custom: %v, %v", names(all), err)
	}
}

func TestProcessing(t *testing.T) {
	red := picture(t, 30, 20)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(red)
	}))
	t.Cleanup(web.Close)
	c := start(t, aiservice.Options{})
	request := map[string]any{
		"prompt": "Add an alternative text to each image.", "model": "agent-1",
		"content": []any{
			map[string]any{"type": "document", "content": `<figure><img src="` + web.URL + `/red.png"></figure>`},
			map[string]any{"type": "document", "content": "<p>Nothing to see</p>"},
		},
	}
	all := c.must("POST", "/v1/documents/process", request)["documents"].([]any)
	first, second := all[0].(map[string]any), all[1].(map[string]any)
	if len(all) != 2 || !strings.Contains(first["document"].(string), "alt=") || second["document"] != "<p>Nothing to see</p>" || first["summary"] == "" {
		t.Errorf("documents %v", all)
	}
	events, err := c.stream("/v1/documents/process/stream", request)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(events); got[0] != "document-processing-metadata" || got[len(got)-1] != "done" {
		t.Errorf("events %v", got)
	}
	joined := []string{"", ""}
	for _, e := range events {
		if e.name == "document-delta" {
			joined[int(e.data["documentIndex"].(float64))] += e.data["textDelta"].(string)
		}
	}
	if joined[0] != first["document"] || joined[1] != second["document"] {
		t.Errorf("in pieces it is %q", joined)
	}
	if s := c.Stats(t); s.BilledRequests != 2 {
		t.Errorf("%d calls were billed, want 2", s.BilledRequests)
	}
}

func TestCallsThatAreRefused(t *testing.T) {
	c := start(t, aiservice.Options{})
	custom := func(change map[string]any) map[string]any {
		all := map[string]any{"content": texts("x"), "prompt": "p", "model": "agent-1"}
		for key, value := range change {
			all[key] = value
		}
		return all
	}
	document := []any{map[string]any{"type": "document", "content": "<p>x</p>"}}
	for _, test := range []struct {
		path   string
		body   any
		status int
		code   string
	}{
		{"/v1/actions/system/explain/calls", custom(nil), 404, "action-not-found"},
		{"/v1/actions/system/translate/calls", map[string]any{"content": texts("x")}, 400, "invalid-request-data"},
		{"/v1/actions/system/continue/calls", map[string]any{}, 400, "invalid-request-data"},
		{"/v1/actions/system/continue/calls", custom(nil), 400, "invalid-request-data"},
		{"/v1/actions/system/continue/calls", map[string]any{"content": texts("")}, 400, "invalid-request-data"},
		{"/v1/actions/system/continue/calls", map[string]any{"content": []any{map[string]any{"type": "file", "id": "x"}}}, 400, "invalid-request-data"},
		{"/v1/actions/system/continue/calls", map[string]any{"content": texts("sandbox-flag:hate")}, 422, "moderation-flagged"},
		{"/v1/actions/custom/calls", custom(map[string]any{"model": ""}), 400, "invalid-request-data"},
		{"/v1/actions/custom/calls", custom(map[string]any{"prompt": ""}), 400, "invalid-request-data"},
		{"/v1/actions/custom/calls", custom(map[string]any{"outputFormat": "pdf"}), 400, "invalid-request-data"},
		{"/v1/actions/custom/calls", custom(map[string]any{"model": "gpt-4.1"}), 404, "MODEL_NOT_FOUND"},
		{"/v1/reviews/system/beauty/calls", custom(nil), 404, "review-not-found"},
		{"/v1/reviews/system/clarity/calls", map[string]any{"content": texts("<p>x</p>")}, 400, "invalid-request-data"},
		{"/v1/reviews/system/clarity/calls", map[string]any{"content": append(texts(twoParagraphs), texts(twoParagraphs)...)}, 400, "invalid-request-data"},
		{"/v1/reviews/custom/calls", custom(map[string]any{"prompt": "sandbox-flag:illicit"}), 422, "moderation-flagged"},
		{"/v1/documents/process", custom(nil), 400, "invalid-request-data"},
		{"/v1/documents/process", custom(map[string]any{"content": []any{}}), 400, "invalid-request-data"},
		{"/v1/documents/process", custom(map[string]any{"content": document, "prompt": ""}), 400, "invalid-request-data"},
		{"/v1/documents/process", custom(map[string]any{"content": document, "model": "none"}), 404, "MODEL_NOT_FOUND"},
		{"/v1/documents/process/stream", custom(map[string]any{"content": document, "prompt": "sandbox-flag:sexual"}), 422, "moderation-flagged"},
	} {
		c.refused("POST", test.path, test.body, test.status, test.code)
	}
	limited := c.as("tester", "ai:actions:custom", "ai:reviews:custom", "ai:documents:process")
	for path, body := range map[string]any{
		"/v1/actions/custom/calls": custom(nil), "/v1/reviews/custom/calls": custom(nil), "/v1/documents/process": custom(map[string]any{"content": document}),
	} {
		limited.refused("POST", path, body, 403, "missing-permissions")
	}
	if s := c.Stats(t); s.BilledRequests != 0 {
		t.Errorf("%d calls were billed", s.BilledRequests)
	}
}

func TestCredits(t *testing.T) {
	at := newClock()
	c := start(t, aiservice.Options{Credits: 3, Now: at.read})
	path := c.conversation("one")
	begun := at.read()
	other := c.as("anna", adminScope)
	otherPath := other.conversation("two")
	c.say(path, map[string]any{"prompt": "one"})
	at.pass(time.Hour)
	other.say(otherPath, map[string]any{"prompt": "two"})
	other.say(otherPath, map[string]any{"prompt": "three"})
	if data := c.refused("POST", path+"/messages", map[string]any{"prompt": "four", "model": "agent-1"}, 402, "credits-exhausted"); data["allowance"] != 3.0 {
		t.Errorf("data %v", data)
	}
	usage := func(body map[string]any) (total float64, users []string) {
		body["users"] = "*"
		v := c.must("POST", "/v1/admin/billing/usage", body)
		environment := v["environment"].(map[string]any)
		if environment["allowance"] != 3.0 {
			t.Errorf("usage %v", v)
		}
		return environment["credits"].(float64), column(v["users"].([]any), "userId")
	}
	all, users := usage(map[string]any{})
	if all < 3 || !slices.Equal(users, []string{"tester", "anna"}) {
		t.Errorf("%v credits of %v", all, users)
	}
	late, users := usage(map[string]any{"from": begun.Add(time.Minute).Format(time.RFC3339)})
	early, _ := usage(map[string]any{"to": begun.Add(time.Minute).Format(time.RFC3339)})
	if !slices.Equal(users, []string{"anna"}) || late >= all || early >= late || early < 1 {
		t.Errorf("late %v of %v, early %v", late, users, early)
	}
	c.refused("POST", "/v1/admin/billing/usage", map[string]any{"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, 400, "invalid-request-data")
	c.refused("POST", "/v1/admin/billing/usage", map[string]any{"from": "yesterday"}, 400, "invalid-request-data")
	if ids := column(c.items("/v1/admin/conversations"), "userId"); !slices.Equal(ids, []string{"anna", "tester"}) {
		t.Errorf("conversations of %v", ids)
	}
	if ids := column(c.items("/v1/admin/conversations?userId=anna"), "id"); !slices.Equal(ids, []string{"two"}) {
		t.Errorf("conversations of anna: %v", ids)
	}
}

func TestOnPremises(t *testing.T) {
	limits := aiservice.Limits{PerUser: aiservice.Rates{LLMRequests: 1}}
	c := start(t, aiservice.Options{OnPremises: true, Credits: 1, Limits: limits})
	path := c.conversation("one")
	for range 3 {
		c.say(path, map[string]any{"prompt": "Hello"})
	}
	c.refused("POST", "/v1/admin/billing/usage", "{}", 404, "not-found")
	c.items("/v1/admin/conversations")
}
