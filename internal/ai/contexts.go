package ai

import (
	"context"
	"iter"
)

// The context library holds what may be given to a model besides a prompt. The public
// documentation says that a context holds prompts and files, that requests of every family
// refer to it, or that it applies to a family by itself, and that only administrators change
// it. Where its parts are and what they look like is a guess, all of it. What changes it takes
// the scope ai:admin; what makes something there is not repeated if it may have arrived, see
// [ErrUnconfirmed].

// A Context is a collection of prompts and files, and of instructions, which the documentation
// does not know of.
type Context struct {
	ID           string   `json:"id,omitempty"`
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	AutoApply    []string `json:"autoApply,omitempty"` // features for which it need not be named; see Features

	// Prompts and Files are what it holds, without what is in them; nil where the service does
	// not say. To set them changes nothing.
	Prompts []Prompt     `json:"prompts,omitempty"`
	Files   []StoredFile `json:"files,omitempty"`
}

// Features are those that a context may apply to by itself. Their names are guesses.
func Features() []string { return []string{"conversations", "actions", "reviews", "documents"} }

// A Prompt is one that a context keeps for use again.
type Prompt struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Prompt string `json:"prompt"`
}

// A ContextLibrary is a collection of contexts.
type ContextLibrary struct {
	ID         string   `json:"id,omitempty"`
	Name       string   `json:"name"`
	ContextIDs []string `json:"contextIds"`
}

// Changes are what is to be set, by the name that it has in JSON; what is not named stays.
type Changes map[string]any

// Contexts lists those that our token may use.
func (c *Client) Contexts(ctx context.Context, pages ...Page) iter.Seq2[Context, error] {
	return list[Context](ctx, c, request{op: "list contexts", endpoint: "Contexts"}, pages)
}

// Context reads one that our token may use.
func (c *Client) Context(ctx context.Context, id string) (Context, error) {
	return get[Context](ctx, c, request{op: "read context", subject: id, endpoint: "Context", ids: []string{id}})
}

// CreateContext makes a context and returns its ID.
func (c *Client) CreateContext(ctx context.Context, n Context) (string, error) {
	n.Prompts, n.Files = nil, nil
	return c.create(ctx, request{op: "create context", subject: n.Name, endpoint: "CreateContext", body: jsonPayload(n)})
}

// AdminContexts lists all contexts.
func (c *Client) AdminContexts(ctx context.Context, pages ...Page) iter.Seq2[Context, error] {
	return list[Context](ctx, c, request{op: "list all contexts", endpoint: "AdminContexts"}, pages)
}

// AdminContext reads any context.
func (c *Client) AdminContext(ctx context.Context, id string) (Context, error) {
	return get[Context](ctx, c, request{op: "read context", subject: id, endpoint: "AdminContext", ids: []string{id}})
}

// UpdateContext changes a context and returns what it is then.
func (c *Client) UpdateContext(ctx context.Context, id string, changes Changes) (Context, error) {
	return get[Context](ctx, c, request{op: "update context", subject: id, endpoint: "UpdateContext", ids: []string{id}, body: jsonPayload(changes)})
}

// DeleteContext deletes a context with all that is in it. That it is gone already is no error.
func (c *Client) DeleteContext(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete context", subject: id, endpoint: "DeleteContext", ids: []string{id}})
}

// UploadContextFile puts a file into a context and returns its ID.
func (c *Client) UploadContextFile(ctx context.Context, contextID string, f File) (string, error) {
	return c.upload(ctx, request{op: "upload to context", subject: f.Name, endpoint: "UploadContextFile", ids: []string{contextID}, creates: true}, f)
}

// FetchContextFile has the service fetch a file from an address into a context, and returns
// its ID. The name may be empty.
func (c *Client) FetchContextFile(ctx context.Context, contextID, address, name string) (string, error) {
	body := map[string]string{"url": address}
	if name != "" {
		body["name"] = name
	}
	return c.create(ctx, request{op: "fetch into context", subject: contextID, endpoint: "FetchContextFile", ids: []string{contextID}, body: jsonPayload(body), cost: Cost{Scrape: 1}})
}

// ContextFiles lists the files of a context.
func (c *Client) ContextFiles(ctx context.Context, contextID string, pages ...Page) iter.Seq2[StoredFile, error] {
	return list[StoredFile](ctx, c, request{op: "list files of context", subject: contextID, endpoint: "ContextFiles", ids: []string{contextID}}, pages)
}

// ContextFile reads what is known of a file of a context.
func (c *Client) ContextFile(ctx context.Context, contextID, id string) (StoredFile, error) {
	return get[StoredFile](ctx, c, request{op: "read file of context", subject: id, endpoint: "ContextFile", ids: []string{contextID, id}})
}

// DeleteContextFile deletes a file of a context. That it is gone already is no error.
func (c *Client) DeleteContextFile(ctx context.Context, contextID, id string) error {
	return c.remove(ctx, &request{op: "delete file of context", subject: id, endpoint: "DeleteContextFile", ids: []string{contextID, id}})
}

// CreatePrompt puts a prompt into a context and returns its ID.
func (c *Client) CreatePrompt(ctx context.Context, contextID string, n Prompt) (string, error) {
	return c.create(ctx, request{op: "create prompt", subject: n.Name, endpoint: "CreatePrompt", ids: []string{contextID}, body: jsonPayload(n)})
}

// Prompts lists the prompts of a context.
func (c *Client) Prompts(ctx context.Context, contextID string, pages ...Page) iter.Seq2[Prompt, error] {
	return list[Prompt](ctx, c, request{op: "list prompts of context", subject: contextID, endpoint: "Prompts", ids: []string{contextID}}, pages)
}

// Prompt reads a prompt of a context.
func (c *Client) Prompt(ctx context.Context, contextID, id string) (Prompt, error) {
	return get[Prompt](ctx, c, request{op: "read prompt", subject: id, endpoint: "Prompt", ids: []string{contextID, id}})
}

// UpdatePrompt changes a prompt and returns what it is then.
func (c *Client) UpdatePrompt(ctx context.Context, contextID, id string, changes Changes) (Prompt, error) {
	return get[Prompt](ctx, c, request{op: "update prompt", subject: id, endpoint: "UpdatePrompt", ids: []string{contextID, id}, body: jsonPayload(changes)})
}

// DeletePrompt deletes a prompt of a context. That it is gone already is no error.
func (c *Client) DeletePrompt(ctx context.Context, contextID, id string) error {
	return c.remove(ctx, &request{op: "delete prompt", subject: id, endpoint: "DeletePrompt", ids: []string{contextID, id}})
}

// CreateContextLibrary makes a library and returns its ID.
func (c *Client) CreateContextLibrary(ctx context.Context, n ContextLibrary) (string, error) {
	return c.create(ctx, request{op: "create context library", subject: n.Name, endpoint: "CreateContextLibrary", body: jsonPayload(n)})
}

// ContextLibraries lists the libraries.
func (c *Client) ContextLibraries(ctx context.Context, pages ...Page) iter.Seq2[ContextLibrary, error] {
	return list[ContextLibrary](ctx, c, request{op: "list context libraries", endpoint: "ContextLibraries"}, pages)
}

// ContextLibrary reads a library.
func (c *Client) ContextLibrary(ctx context.Context, id string) (ContextLibrary, error) {
	return get[ContextLibrary](ctx, c, request{op: "read context library", subject: id, endpoint: "ContextLibrary", ids: []string{id}})
}

// UpdateContextLibrary changes a library and returns what it is then.
func (c *Client) UpdateContextLibrary(ctx context.Context, id string, changes Changes) (ContextLibrary, error) {
	return get[ContextLibrary](ctx, c, request{op: "update context library", subject: id, endpoint: "UpdateContextLibrary", ids: []string{id}, body: jsonPayload(changes)})
}

// DeleteContextLibrary deletes a library; its contexts stay. That it is gone already is no error.
func (c *Client) DeleteContextLibrary(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete context library", subject: id, endpoint: "DeleteContextLibrary", ids: []string{id}})
}

// get reads one thing.
func get[T any](ctx context.Context, c *Client, r request) (got T, err error) {
	err = c.ask(ctx, &r, &got)
	return got, err
}

// create makes something that stays.
func (c *Client) create(ctx context.Context, r request) (string, error) {
	var got created
	r.creates = true
	err := c.ask(ctx, &r, &got)
	return got.ID, err
}
