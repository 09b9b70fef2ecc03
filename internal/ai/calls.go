package ai

import (
	"context"
	"fmt"
	"maps"

	"assetferry/internal/retry"
)

// Action has the service carry out one of its own actions, such as "make-shorter" or
// "translate", on a text or HTML; translate takes the argument "language". It chooses the
// model. The answer is billed; see [Text].
func (c *Client) Action(ctx context.Context, name, content string, args map[string]string) (*Stream, error) {
	return c.call(ctx, request{op: "call action", subject: name, endpoint: "Action", ids: []string{name}}, content, withArgs(args))
}

// A CustomAction is an instruction for one text.
type CustomAction struct {
	Prompt  string
	Model   string
	Output  string // "html" or "plainText"
	Content string
}

// CustomAction has a model follow an instruction. The answer is billed; see [Text].
func (c *Client) CustomAction(ctx context.Context, a CustomAction) (*Stream, error) {
	return c.call(ctx, request{op: "call custom action", endpoint: "CustomAction"}, a.Content,
		map[string]any{"prompt": a.Prompt, "model": a.Model, "outputFormat": a.Output})
}

// Review has the service review HTML, such as for its "correctness" or "clarity"; each element
// at its top has a data-id. It chooses the model. The answer is billed; see [Suggestions].
func (c *Client) Review(ctx context.Context, name, html string, args map[string]string) (*Stream, error) {
	return c.call(ctx, request{op: "call review", subject: name, endpoint: "Review", ids: []string{name}}, html, withArgs(args))
}

// CustomReview has a model review HTML by an instruction. The answer is billed; see
// [Suggestions].
func (c *Client) CustomReview(ctx context.Context, prompt, model, html string) (*Stream, error) {
	return c.call(ctx, request{op: "call custom review", endpoint: "CustomReview"}, html, map[string]any{"prompt": prompt, "model": model})
}

func withArgs(args map[string]string) map[string]any {
	if len(args) == 0 {
		return nil
	}
	return map[string]any{"args": args}
}

// call makes a call about one text.
func (c *Client) call(ctx context.Context, r request, content string, more map[string]any) (*Stream, error) {
	body := map[string]any{"content": []Item{TextItem(content)}}
	maps.Copy(body, more)
	prompt, _ := more["prompt"].(string)
	r.body, r.billable = jsonPayload(body), true
	r.cost = Cost{LLM: 1, Tokens: EstimateTokens(prompt, 0) + EstimateTokens(content, 0)}
	return c.stream(ctx, &r)
}

// A Processing is one instruction for whole documents.
type Processing struct {
	Documents []string // HTML
	Prompt    string
	Model     string
}

// Processed is a document after its processing, and what was done to it. Only what the prompt
// asked for is changed.
type Processed struct {
	Document string `json:"document"`
	Summary  string `json:"summary"`
}

func (p Processing) request(endpoint Endpoint) *request {
	content := []Item{}
	cost := Cost{LLM: 1, Tokens: EstimateTokens(p.Prompt, 0)}
	for _, html := range p.Documents {
		content = append(content, Item{Type: "document", Content: html})
		cost.Tokens += EstimateTokens(html, 0)
	}
	return &request{
		op: "process documents", endpoint: endpoint, billable: true, cost: cost, documents: len(p.Documents),
		body: jsonPayload(map[string]any{"content": content, "prompt": p.Prompt, "model": p.Model}),
	}
}

type processed struct{ Documents []Processed }

// ProcessDocuments processes documents and waits for the outcome, one for each document and in
// the same order. It is billed.
func (c *Client) ProcessDocuments(ctx context.Context, p Processing) ([]Processed, error) {
	r := p.request("ProcessDocuments")
	var got processed
	if err := c.ask(ctx, r, &got); err != nil {
		return nil, err
	}
	if len(got.Documents) != len(p.Documents) {
		// Nobody knows which is which, and the same documents would come back so again.
		e := c.newError(r)
		e.Err, e.class, e.MayBeBilled = fmt.Errorf("%d were sent, and %d came back", len(p.Documents), len(got.Documents)), retry.Permanent, true
		return got.Documents, e
	}
	return got.Documents, nil
}

// StreamDocuments is [Client.ProcessDocuments] with the outcome as it comes; see [Documents].
// Where it is called is a guess.
func (c *Client) StreamDocuments(ctx context.Context, p Processing) (*Stream, error) {
	return c.stream(ctx, p.request("StreamDocuments"))
}
