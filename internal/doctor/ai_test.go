package doctor

import (
	"slices"
	"strings"
	"testing"

	"assetferry/internal/ai"
	"assetferry/internal/config"
)

func TestJudgeRoutes(t *testing.T) {
	usage, health, send := ai.DefaultRoutes()["Usage"], ai.DefaultRoutes()["Health"], ai.DefaultRoutes()["Send"]
	for _, test := range []struct {
		limited bool
		all     []ai.Comparison
		verdict string
		after   string // lines
	}{
		{false, []ai.Comparison{{Endpoint: "Send", Route: send, Standing: ai.Confirmed}}, OK, ""},
		{false, []ai.Comparison{{Endpoint: "Usage", Route: usage, Standing: ai.Missing}}, OK, ""},
		{true, []ai.Comparison{{Endpoint: "Usage", Route: usage, Standing: ai.Missing}}, Warning, "Usage missing: POST /v1/admin/billing/usage"},
		{true, []ai.Comparison{{Endpoint: "Health", Route: health, Standing: ai.Missing}}, OK, ""},
		{false, []ai.Comparison{{Endpoint: "Health", Route: health, Standing: ai.Missing}}, Warning, "Health missing: GET /health"},
		{false, []ai.Comparison{{Endpoint: "Send", Route: send, Standing: ai.Moved, At: ai.Route{Method: "PUT", Path: "/v2/{conversationId}"}}}, Warning,
			"Send moved: POST /v1.1/conversations/{conversationId}/messages, probably PUT /v2/{conversationId} ai_route: - Files=GET /x/{conversationId} - Send=PUT /v2/{conversationId}"},
	} {
		d := &Doctor{Settings: &config.Settings{AIRoutes: []string{"Send=POST /v9/{conversationId}", "Files=GET /x/{conversationId}"}}, AI: &AIService{Limited: test.limited}}
		f := d.judgeRoutes("/v1/doc.json", test.all)
		if got := strings.Join(strings.Fields(f.After), " "); f.Verdict != test.verdict || got != test.after || len(f.Details) != len(test.all) {
			t.Errorf("%+v: got %+v", test.all, f)
		}
		// The lines can be pasted: the configuration accepts them.
		if _, lines, ok := strings.Cut(f.After, "ai_route:\n"); ok {
			set := strings.Split(strings.ReplaceAll(lines, "  - ", ""), "\n")
			if routes, err := ai.ParseRoutes(set); err != nil || !slices.Contains(set, "Send=PUT /v2/{conversationId}") || routes["Send"].Method != "PUT" {
				t.Errorf("%q: %v", set, err)
			}
		}
	}
}
