package altpages

import (
	"context"
	"strings"
	"testing"

	"assetferry/internal/ai"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/token"
)

// A client is the real client, connected to a sandbox service.
type client struct{ *ai.Client }

func (c client) Process(ctx context.Context, documents []string, prompt string) (all []Processed, err error) {
	got, err := c.ProcessDocuments(ctx, ai.Processing{Documents: documents, Prompt: prompt, Model: "agent-1"})
	for _, p := range got {
		all = append(all, Processed{p.Document, p.Summary})
	}
	return all, err
}

func newClient(t *testing.T, o aiservice.Options) (client, aiservicetest.Running) {
	t.Helper()
	s := aiservicetest.Run(t, o)
	tokens, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, Service: "ai", Permissions: []string{"ai:admin"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ai.New(ai.Options{BaseURL: s.URL, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return client{c}, s
}

// TestRunWithTheClientOfTheService verifies that the pages of a refused batch are sent one by one,
// and that the text around the descriptions stays unchanged.
func TestRunWithTheClientOfTheService(t *testing.T) {
	f := newFolder(t, map[string]string{"a.html": page, "b.html": "<img src=b.jpg>", "c.html": strings.Repeat("<p>Caf&eacute; &#8212; <img src='c.png'/>\r\n", 50)})
	rule, err := fault.Parse("POST /v1/documents/process status=422 once=1")
	if err != nil {
		t.Fatal(err)
	}
	c, s := newClient(t, aiservice.Options{Faults: []fault.Rule{rule}})
	sum, became, err := f.run(f.look(Options{}), c, Options{Language: "de"})
	if err != nil || sum != (Sum{Written: 3, Alts: 53, Calls: 4}) {
		t.Fatalf("%+v, %q, %v", sum, became, err)
	}
	for _, name := range []string{"a.enriched.html", "b.enriched.html", "c.enriched.html"} {
		if d := mustParse(t, f.get(name)); d.lacking() != 0 || !strings.Contains(d.text, "[de]") {
			t.Errorf("%s: %.200q", name, d.text)
		}
	}
	if billed := s.Stats(t).BilledRequests; billed != 3 {
		t.Errorf("%d calls were billed", billed)
	}
}
