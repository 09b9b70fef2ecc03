package ai

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"assetferry/internal/retry"
)

// Action has the service carry out one of its own actions, such as "make-shorter" or
// "translate", on a text or HTML; translate takes the argument "language". It chooses the
// model. The answer is billed; see [Text].
func (c *Client) Action(ctx context.Context, name, content string, args map[string]string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call action", subject: name, endpoint: "Action", ids: []string{name}}, content, contexts, withArgs(args))
}

// A CustomAction is an instruction for one text.
type CustomAction struct {
	Prompt   string // may be empty where a context takes its place
	Model    string
	Output   string // "html" or "plainText"
	Content  string
	Contexts []ContextRef
}

// CustomAction has a model follow an instruction. The answer is billed; see [Text].
func (c *Client) CustomAction(ctx context.Context, a CustomAction) (*Stream, error) {
	more := withPrompt(a.Prompt, a.Model)
	more["outputFormat"] = a.Output
	return c.call(ctx, request{op: "call custom action", endpoint: "CustomAction"}, a.Content, a.Contexts, more)
}

// Review has the service review HTML, such as for its "correctness" or "clarity"; each element
// at its top has a data-id. It chooses the model. The answer is billed; see [Suggestions].
func (c *Client) Review(ctx context.Context, name, html string, args map[string]string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call review", subject: name, endpoint: "Review", ids: []string{name}}, html, contexts, withArgs(args))
}

// CustomReview has a model review HTML by an instruction, which may be empty where a context
// takes its place. The answer is billed; see [Suggestions].
func (c *Client) CustomReview(ctx context.Context, prompt, model, html string, contexts ...ContextRef) (*Stream, error) {
	return c.call(ctx, request{op: "call custom review", endpoint: "CustomReview"}, html, contexts, withPrompt(prompt, model))
}

// withPrompt leaves an empty prompt out: the service takes one, or none.
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

// call makes a call about one text, with contexts beside it. What these add to the tokens is
// not known.
func (c *Client) call(ctx context.Context, r request, content string, contexts []ContextRef, more map[string]any) (*Stream, error) {
	body := map[string]any{"content": withContexts([]Item{TextItem(content)}, contexts)}
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
	Contexts  []ContextRef
	// Options are sent along as they are. What is documented of them is what they can do:
	// capabilities, contexts, fragments instead of whole documents, and HTTP headers with which
	// pictures are fetched. Their spelling is not; see [Processing.CheckOptions].
	Options map[string]json.RawMessage
	// Secret names the options whose texts must not be shown, should the service repeat them.
	Secret map[string]bool
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
