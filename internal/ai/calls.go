package ai

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"assetferry/internal/retry"
)

// Action performs a system action such as "make-shorter" or "translate" on text or HTML;
// translate requires the argument "language". The service selects the model. The request is
// billed; see [Text].
func (c *Client) Action(ctx context.Context, name, content string, args map[string]string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call action", subject: name, endpoint: "Action", ids: []string{name}}, content, contexts, withArgs(args))
}

// A CustomAction is a prompt for a text.
type CustomAction struct {
	Prompt   string // optional with a context
	Model    string
	Output   string // "html" or "plainText"
	Content  string
	Contexts []ContextRef
}

// CustomAction performs a prompt on a text. The request is billed; see [Text].
func (c *Client) CustomAction(ctx context.Context, a CustomAction) (*Stream, error) {
	more := withPrompt(a.Prompt, a.Model)
	more["outputFormat"] = a.Output
	return c.call(ctx, request{op: "call custom action", endpoint: "CustomAction"}, a.Content, a.Contexts, more)
}

// Review requests a system review of HTML, such as "correctness" or "clarity". Each top-level
// element has a data-id. The service selects the model. The request is billed; see
// [Suggestions].
func (c *Client) Review(ctx context.Context, name, html string, args map[string]string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call review", subject: name, endpoint: "Review", ids: []string{name}}, html, contexts, withArgs(args))
}

// CustomReview requests a review of HTML with a prompt, which is optional with a context. The
// request is billed; see [Suggestions].
func (c *Client) CustomReview(ctx context.Context, prompt, model, html string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call custom review", endpoint: "CustomReview"}, html, contexts, withPrompt(prompt, model))
}

// withPrompt omits an empty prompt.
func withPrompt(prompt, model string) map[string]any {
	more := map[string]any{"model": model}
	if prompt != "" {
		more["prompt"] = prompt
	}
	return more
}

func withArgs(args map[string]string) map[string]any {
	if len(args) == 0 {
		return nil
	}
	return map[string]any{"args": args}
}

// call sends a request for a text with contexts. The tokens of contexts are unknown.
func (c *Client) call(ctx context.Context, r request, content string, contexts []ContextRef, more map[string]any) (*Stream, error) {
	body := map[string]any{"content": withContexts([]Item{TextItem(content)}, contexts)}
	maps.Copy(body, more)
	prompt, _ := more["prompt"].(string)
	r.body, r.billable = jsonPayload(body), true
	r.cost = Cost{LLM: 1, Tokens: EstimateTokens(prompt, 0) + EstimateTokens(content, 0)}
	return c.stream(ctx, &r)
}

// A Processing is a prompt for complete documents.
type Processing struct {
	Documents []string // HTML
	Prompt    string
	Model     string
	Contexts  []ContextRef
	// Options are sent unchanged. Documented are their purposes: capabilities, contexts,
	// fragments instead of complete documents, and HTTP headers for loading images. Their
	// spelling is not; see [Processing.CheckOptions].
	Options map[string]json.RawMessage
	// Secret names the options whose values must be removed from errors.
	Secret map[string]bool
}

// Processed is a processed document with a summary. Only what the prompt covers is changed.
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
	if p.searchesWeb() {
		cost.Search = 1
	}
	body := map[string]any{}
	for name, value := range p.Options {
		body[name] = value
	}
	maps.Copy(body, map[string]any{"content": withContexts(content, p.Contexts), "prompt": p.Prompt, "model": p.Model})
	return &request{
		op: "process documents", endpoint: endpoint, billable: true, cost: cost,
		body: jsonPayload(body), secrets: p.secrets(),
	}
}

type processed struct{ Documents []Processed }

// ProcessDocuments processes documents and returns one result for each, in the same order. The
// request is billed.
func (c *Client) ProcessDocuments(ctx context.Context, p Processing) ([]Processed, error) {
	r := p.request("ProcessDocuments")
	var got processed
	if err := c.ask(ctx, r, &got); err != nil {
		return nil, err
	}
	if len(got.Documents) != len(p.Documents) {
		// The results cannot be matched, and the next attempt would return the same.
		e := c.newError(r)
		e.Err, e.class, e.MayBeBilled = fmt.Errorf("the service returned %[2]d documents for %[1]d", len(p.Documents), len(got.Documents)), retry.Permanent, true
		return got.Documents, e
	}
	return got.Documents, nil
}

// StreamDocuments is [Client.ProcessDocuments] with streamed results; see [Documents]. The path
// is a guess.
func (c *Client) StreamDocuments(ctx context.Context, p Processing) (*Stream, error) {
	return c.stream(ctx, p.request("StreamDocuments"))
}
