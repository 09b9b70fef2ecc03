package aiservice_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/tokens"
)

func faulty(t testing.TB, rules ...string) aiservice.Options {
	t.Helper()
	var o aiservice.Options
	for _, text := range rules {
		f, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = append(o.Faults, f)
	}
	return o
}

const messagesRoute = "/v1.1/conversations/{conversationId}/messages"

const askForJSON = `Answer with one JSON object {"alt": string, "tags": [string]}.`

func TestSpoiledStreams(t *testing.T) {
	for kind, test := range map[string]struct {
		last string // name of the last event
		cut  bool
		kept int    // number of stored messages
		text string // part of the text
	}{
		"error":    {"error", false, 1, ""},
		"cut":      {"text-delta", true, 2, ""},
		"nodone":   {"conversation-title", false, 2, "{"},
		"envelope": {"done", false, 2, ""},
		"slow":     {"done", false, 2, "{"},
		"garbled":  {"done", false, 2, "story"},
		"fenced":   {"done", false, 2, "```json\n{"},
		"empty":    {"done", false, 2, ""},
	} {
		t.Run(kind, func(t *testing.T) {
			rule := "POST " + messagesRoute + " stream=" + kind + " once=1"
			if kind == "slow" {
				rule += " delay=1ms"
			}
			c := start(t, faulty(t, rule))
			path := c.conversation("one")
			message := map[string]any{"prompt": askForJSON, "model": "agent-1"}
			all, err := c.stream(strings.Replace(path, "/v1/", "/v1.1/", 1)+"/messages", message)
			if last := all[len(all)-1].name; last != test.last || (err != nil) != test.cut || all[0].name != "message-metadata" {
				t.Errorf("events %v, error %v; want %s at the end, and a cut: %v", names(all), err, test.last, test.cut)
			}
			whole := ""
			if kind == "envelope" {
				if inner := all[0].data; inner["event"] != "message-metadata" || inner["data"].(map[string]any)["messageId"] == "" {
					t.Errorf("the envelope holds %v", inner)
				}
			} else if whole = text(all, "text-delta"); !strings.Contains(whole, test.text) {
				t.Errorf("the text is %s", whole)
			}
			messages := c.items(path + "/messages")
			if len(messages) != test.kept {
				t.Fatalf("kept are %v", messages)
			}
			if s := c.Stats(t); s.BilledRequests != 1 {
				t.Errorf("%d calls were billed", s.BilledRequests)
			}
			if test.kept == 2 {
				kept := messages[1].(map[string]any)["content"].([]any)[0].(map[string]any)["content"].(string)
				if !strings.HasPrefix(kept, whole) || kind == "cut" && (len(kept) <= len(whole) || !json.Valid([]byte(kept))) {
					t.Errorf("kept is %s, and sent was %s", kept, whole)
				}
			}
			if again := c.say(path, message); again[len(again)-1].name != "done" { // the conversation can be used again
				t.Errorf("the next one had %v", names(again))
			}
		})
	}
}

func TestSpoiledStreamsWithoutConversation(t *testing.T) {
	c := start(t, faulty(t, "* * stream=error once=1", "* * stream=cut once=2", "* * stream=empty once=3", "* * stream=garbled once=4"))
	for i, want := range []struct {
		last string
		cut  bool
	}{{"error", false}, {"modification-delta", true}, {"done", false}, {"done", false}, {"done", false}} {
		c.must("GET", "/v1/models/1", nil) // requests without a stream are not counted
		all, err := c.stream("/v1/actions/system/continue/calls", map[string]any{"content": texts("Text that goes on.")})
		if last := all[len(all)-1].name; last != want.last || (err != nil) != want.cut {
			t.Errorf("call %d: %v, %v", i+1, names(all), err)
		}
	}
}

func TestFaultsOfRequests(t *testing.T) {
	for rule, test := range map[string]struct {
		status int // 0: closed connection
		code   string
		kept   int
	}{
		"status=429 once=1":               {429, "rate-limits-exceeded", 0},
		"status=401 once=1":               {401, "invalid-jwt", 0},
		"status=402 once=1":               {402, "credits-exhausted", 0},
		"status=403 once=1":               {403, "missing-permissions", 0},
		"status=409 once=1":               {409, "conversation-in-use", 0},
		"status=503 once=1":               {503, "service-unavailable", 0},
		"status=503 commit=after once=1":  {503, "service-unavailable", 2},
		"drop=before once=1":              {0, "", 0},
		"drop=after once=1":               {0, "", 2},
		"status=500 retry-after=3 rate=1": {500, "internal-server-error", 0},
		"limit=1/h status=503":            {200, "", 2},
		"delay=1ms once=1":                {200, "", 2},
		"stream=slow delay=1ms once=1":    {200, "", 2},
		"status=418 commit=before nth=1":  {418, "i'm-a-teapot", 0},
	} {
		t.Run(rule, func(t *testing.T) {
			c := start(t, faulty(t, "POST "+messagesRoute+" "+rule))
			path := c.conversation("one")
			a, err := c.send("POST", "/v1.1/conversations/one/messages", "application/json", strings.NewReader(`{"prompt":"x","model":"agent-1"}`))
			if (err != nil) != (test.status == 0) || a.status != test.status {
				t.Fatalf("%d %s, %v", a.status, a.text, err)
			}
			if test.code != "" {
				c.wantRefusal(rule, a, test.status, test.code)
			}
			if got := len(c.items(path + "/messages")); got != test.kept {
				t.Errorf("%d messages are kept, want %d", got, test.kept)
			}
		})
	}
}

func TestRateLimits(t *testing.T) {
	at := newClock()
	web := site(t)
	c := start(t, aiservice.Options{Now: at.read, Limits: aiservice.Limits{PerUser: aiservice.Rates{LLMRequests: 2, WebSearches: 1, WebScrapes: 1}}})
	path := c.conversation("one")
	limited := func(method, path string, body any, kind string) {
		t.Helper()
		a := c.try(method, path, body)
		if data := c.wantRefusal(kind, a, 429, "rate-limits-exceeded"); data["kind"] != kind || a.header.Get("Retry-After") != "" {
			t.Errorf("%s: data %v, headers %v", kind, data, a.header)
		}
	}
	search := map[string]any{"prompt": "x", "model": "agent-1", "capabilities": map[string]any{"webSearch": map[string]any{}}}
	c.say(path, search)
	limited("POST", path+"/messages", search, "webSearches")
	c.say(path, map[string]any{"prompt": "x"})
	limited("POST", path+"/messages", map[string]any{"prompt": "x", "model": "agent-1"}, "llmRequests")
	limited("POST", "/v1/actions/system/continue/calls", map[string]any{"content": texts("x")}, "llmRequests")
	page := map[string]any{"url": web.URL + "/page"}
	c.must("POST", path+"/web-resources", page)
	limited("POST", path+"/web-resources", page, "webScrapes")
	other := c.as("anna", adminScope)
	other.say(other.conversation("one"), map[string]any{"prompt": "x"})
	at.pass(time.Minute)
	c.say(path, search)
	got := map[string]aiservice.LimitStats{}
	for _, l := range c.Stats(t).Limits {
		got[l.Kind] = l
	}
	if l := got["llmRequests"]; l.User != (aiservice.LimitUse{Limit: 2, Most: 5}) || l.Organisation != (aiservice.LimitUse{Limit: 0, Most: 6}) || l.Refused != 2 {
		t.Errorf("statistics %+v", l)
	}
	if kept := len(c.items(path + "/messages")); kept != 6 {
		t.Errorf("%d messages were kept, want 6", kept)
	}
	if s := c.Stats(t); s.BilledRequests != 4 {
		t.Errorf("%d calls were billed, want 4", s.BilledRequests)
	}
}

func TestTokensAreWeighed(t *testing.T) {
	models := []aiservice.Model{
		{ID: "light", Provider: "Agent", MaxContextLength: 1 << 20, Weight: 1},
		{ID: "heavy", Provider: "Agent", MaxContextLength: 1 << 20, Weight: 4},
		{ID: "cached", Provider: "Anthropic", MaxContextLength: 1 << 20},
	}
	c := start(t, aiservice.Options{Models: models, Now: newClock().read})
	most := 0
	ask := func(path, model string) (tokens int) {
		c.say(path, map[string]any{"prompt": strings.Repeat("word ", 400), "model": model})
		now := c.Stats(t).Limits[3].User.Most
		tokens, most = now-most, now
		return tokens
	}
	light, heavy := ask(c.conversation("light"), "light"), ask(c.conversation("heavy"), "heavy")
	if light <= 0 || heavy != 4*light {
		t.Errorf("a light model took %d tokens, a heavy one %d", light, heavy)
	}
	if again := ask("/v1/conversations/heavy", "heavy"); again <= heavy {
		t.Errorf("the history of a conversation was not counted: %d tokens, then %d", heavy, again)
	}
	first := ask(c.conversation("cached"), "cached")
	if again := ask("/v1/conversations/cached", "cached"); again != first {
		t.Errorf("what was read from a cache was counted: %d tokens, then %d", first, again)
	}
}

// TestSlowStreams verifies the duration of a slow stream, with fake time.
func TestSlowStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := faulty(t, "POST /v1/actions/system/{actionName}/calls stream=slow once=1", "POST /v1/actions/system/{actionName}/calls stream=slow delay=3s once=2")
		o.EventInterval, o.Latency = time.Second, 10*time.Second
		for i, interval := range []time.Duration{200 * time.Millisecond, 3 * time.Second, time.Second} {
			if i == 0 {
				o.Environments = []tokens.Environment{{ID: "e", AccessKey: "k"}}
			}
			w := inProcess(t, o, i+1)
			n := time.Duration(strings.Count(w.text, "event: "))
			if want := o.Latency + (n-1)*interval; n < 4 || w.took != want {
				t.Errorf("call %d took %v for %d events, want %v", i+1, w.took, n, want)
			}
		}
	})
}

func TestEveryAnswerIsMarked(t *testing.T) {
	c := start(t, aiservice.Options{})
	anonymous := *c
	anonymous.token = ""
	for path, status := range map[string]int{"/health": 200, "/v1/conversations": 401, "/nothing/here": 404, "/_sandbox/stats": 200, "/docs": 307, "/docs/": 307, "/v1//docs": 404} {
		if a := anonymous.try("GET", path, nil); a.status != status || a.header.Get(standin.MarkHeader) != "assetferry" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	if v := anonymous.must("GET", "/health", nil); v["serviceName"] != "assetferry-sandbox" || v["uptime"] == nil {
		t.Errorf("health %v", v)
	}
	var requests []string
	for _, r := range c.Stats(t).Requests {
		requests = append(requests, fmt.Sprint(r.Method, " ", r.Route, " ", r.Status, " ", r.Count))
	}
	if want := []string{"GET /docs 307 1", "GET /docs/ 307 1", "GET /health 200 2", "GET /v1/conversations 401 1", "GET unknown 404 2"}; !slices.Equal(requests, want) {
		t.Errorf("requests %v, want %v", requests, want)
	}
}

func TestModels(t *testing.T) {
	c := start(t, aiservice.Options{})
	models := func(c *client, query string) map[string]map[string]any {
		all := map[string]map[string]any{}
		for _, m := range c.items("/v1/models/1" + query) {
			all[m.(map[string]any)["id"].(string)] = m.(map[string]any)
		}
		return all
	}
	all := models(c, "")
	agent := all["agent-1"]
	limits := agent["limits"].(map[string]any)
	if agent["allowed"] != true || agent["recommended"] != true || limits["maxImageSize"] != 5e6 || limits["maxFileSize"] != 25e6 || limits["maxContextLength"] != 256e3 {
		t.Errorf("agent %v", agent)
	}
	if all["gpt-4.1"]["removal"] != "2025-04-01" || agent["removal"] != nil {
		t.Errorf("removals %v, %v", all["gpt-4.1"]["removal"], agent["removal"])
	}
	if german := models(c, "?language=de")["agent-1"]; german["description"] == agent["description"] {
		t.Errorf("description %v", german["description"])
	}
	few := models(c.as("tester", "ai:models:anthropic:*", "ai:conversations:reasoning"), "?language=xx")
	for id, allowed := range map[string]bool{"agent-1": false, "claude-4-6-sonnet": true} {
		if few[id]["allowed"] != allowed || few[id]["description"] != all[id]["description"] {
			t.Errorf("model %v", few[id])
		}
		capabilities := few[id]["capabilities"].(map[string]any)
		if fmt.Sprint(capabilities) != "map[reasoning:map[allowed:true enabled:true] webSearch:map[allowed:false enabled:true]]" {
			t.Errorf("capabilities %v", capabilities)
		}
	}
	for version, status := range map[string]int{"2": 404, "v1": 500, "v2": 500, "latest": 500} {
		if a := c.try("GET", "/v1/models/"+version, nil); a.status != status {
			t.Errorf("version %s: %d %s", version, a.status, a.text)
		}
	}
}
