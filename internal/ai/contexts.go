package ai

import (
	"context"
	"iter"
)

// The context library contains additional input for models. Documented are: contexts contain
// prompts and files, all kinds of requests can refer to them or use them automatically, and
// only administrators change them. All paths and fields are guesses. Changes require the scope
// ai:admin. Requests that create something are not repeated if they may have arrived, see
// [ErrUnconfirmed].

// A Context is a collection of prompts and files, with instructions, which are not documented.
type Context struct {
	ID           string   `json:"id,omitempty"`
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	AutoApply    []string `json:"autoApply,omitempty"` // features with automatic use; see Features

	// Prompts and Files are the parts without their content; nil if the service does not report
	// them. Setting them has no effect.
	Prompts []Prompt     `json:"prompts,omitempty"`
	Files   []StoredFile `json:"files,omitempty"`
}

// Features are the features with automatic use. Their names are guesses.
func Features() []string { return []string{"conversations", "actions", "reviews", "documents"} }

// A Prompt is a stored prompt of a context.
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

// Changes are the fields to set by JSON name; others do not change.
type Changes map[string]any

// Contexts lists the contexts that the token permits.
func (c *Client) Contexts(ctx context.Context, pages ...Page) iter.Seq2[Context, error] {
	return list[Context](ctx, c, request{op: "list contexts", endpoint: "Contexts"}, pages)
}

// Context returns a context that the token permits.
func (c *Client) Context(ctx context.Context, id string) (Context, error) {
	return get[Context](ctx, c, request{op: "read context", subject: id, endpoint: "Context", ids: []string{id}})
}

// CreateContext creates a context and returns its ID.
func (c *Client) CreateContext(ctx context.Context, n Context) (string, error) {
	n.Prompts, n.Files = nil, nil
	return c.create(ctx, request{op: "create context", subject: n.Name, endpoint: "CreateContext", body: jsonPayload(n)})
}

// AdminContexts lists all contexts.
func (c *Client) AdminContexts(ctx context.Context, pages ...Page) iter.Seq2[Context, error] {
	return list[Context](ctx, c, request{op: "list all contexts", endpoint: "AdminContexts"}, pages)
}

// AdminContext returns any context.
func (c *Client) AdminContext(ctx context.Context, id string) (Context, error) {
	return get[Context](ctx, c, request{op: "read context", subject: id, endpoint: "AdminContext", ids: []string{id}})
}

// UpdateContext changes a context and returns the new one.
func (c *Client) UpdateContext(ctx context.Context, id string, changes Changes) (Context, error) {
	return get[Context](ctx, c, request{op: "update context", subject: id, endpoint: "UpdateContext", ids: []string{id}, body: jsonPayload(changes)})
}

// DeleteContext deletes a context with its content. A missing context is no error.
func (c *Client) DeleteContext(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete context", subject: id, endpoint: "DeleteContext", ids: []string{id}})
}

// UploadContextFile uploads a file to a context and returns its ID.
func (c *Client) UploadContextFile(ctx context.Context, contextID string, f File) (string, error) {
	return c.upload(ctx, request{op: "upload to context", subject: f.Name, endpoint: "UploadContextFile", ids: []string{contextID}, creates: true}, f)
}

// FetchContextFile makes the service load a file from a URL into a context, and returns its ID.
// The name is optional.
func (c *Client) FetchContextFile(ctx context.Context, contextID, url, name string) (string, error) {
	body := map[string]string{"url": url}
	if name != "" {
		body["name"] = name
	}
	return c.create(ctx, request{op: "fetch into context", subject: contextID, endpoint: "FetchContextFile", ids: []string{contextID}, body: jsonPayload(body), cost: Cost{Scrape: 1}})
}

// ContextFiles lists the files of a context.
func (c *Client) ContextFiles(ctx context.Context, contextID string, pages ...Page) iter.Seq2[StoredFile, error] {
	return list[StoredFile](ctx, c, request{op: "list files of context", subject: contextID, endpoint: "ContextFiles", ids: []string{contextID}}, pages)
}

// ContextFile returns the properties of a file in a context.
func (c *Client) ContextFile(ctx context.Context, contextID, id string) (StoredFile, error) {
	return get[StoredFile](ctx, c, request{op: "read file of context", subject: id, endpoint: "ContextFile", ids: []string{contextID, id}})
}

// DeleteContextFile deletes a file of a context. A missing file is no error.
func (c *Client) DeleteContextFile(ctx context.Context, contextID, id string) error {
	return c.remove(ctx, &request{op: "delete file of context", subject: id, endpoint: "DeleteContextFile", ids: []string{contextID, id}})
}

// CreatePrompt adds a prompt to a context and returns its ID.
func (c *Client) CreatePrompt(ctx context.Context, contextID string, n Prompt) (string, error) {
	return c.create(ctx, request{op: "create prompt", subject: n.Name, endpoint: "CreatePrompt", ids: []string{contextID}, body: jsonPayload(n)})
}

// Prompts lists the prompts of a context.
func (c *Client) Prompts(ctx context.Context, contextID string, pages ...Page) iter.Seq2[Prompt, error] {
	return list[Prompt](ctx, c, request{op: "list prompts of context", subject: contextID, endpoint: "Prompts", ids: []string{contextID}}, pages)
}

// Prompt returns a prompt of a context.
func (c *Client) Prompt(ctx context.Context, contextID, id string) (Prompt, error) {
	return get[Prompt](ctx, c, request{op: "read prompt", subject: id, endpoint: "Prompt", ids: []string{contextID, id}})
}

// UpdatePrompt changes a prompt and returns the new one.
func (c *Client) UpdatePrompt(ctx context.Context, contextID, id string, changes Changes) (Prompt, error) {
	return get[Prompt](ctx, c, request{op: "update prompt", subject: id, endpoint: "UpdatePrompt", ids: []string{contextID, id}, body: jsonPayload(changes)})
}

// DeletePrompt deletes a prompt of a context. A missing prompt is no error.
func (c *Client) DeletePrompt(ctx context.Context, contextID, id string) error {
	return c.remove(ctx, &request{op: "delete prompt", subject: id, endpoint: "DeletePrompt", ids: []string{contextID, id}})
}

// CreateContextLibrary creates a library and returns its ID.
func (c *Client) CreateContextLibrary(ctx context.Context, n ContextLibrary) (string, error) {
	return c.create(ctx, request{op: "create context library", subject: n.Name, endpoint: "CreateContextLibrary", body: jsonPayload(n)})
}

// ContextLibraries lists the libraries.
func (c *Client) ContextLibraries(ctx context.Context, pages ...Page) iter.Seq2[ContextLibrary, error] {
	return list[ContextLibrary](ctx, c, request{op: "list context libraries", endpoint: "ContextLibraries"}, pages)
}

// ContextLibrary returns a library.
func (c *Client) ContextLibrary(ctx context.Context, id string) (ContextLibrary, error) {
	return get[ContextLibrary](ctx, c, request{op: "read context library", subject: id, endpoint: "ContextLibrary", ids: []string{id}})
}

// UpdateContextLibrary changes a library and returns the new one.
func (c *Client) UpdateContextLibrary(ctx context.Context, id string, changes Changes) (ContextLibrary, error) {
	return get[ContextLibrary](ctx, c, request{op: "update context library", subject: id, endpoint: "UpdateContextLibrary", ids: []string{id}, body: jsonPayload(changes)})
}

// DeleteContextLibrary deletes a library, but not its contexts. A missing library is no error.
func (c *Client) DeleteContextLibrary(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete context library", subject: id, endpoint: "DeleteContextLibrary", ids: []string{id}})
}

// get returns one object.
func get[T any](ctx context.Context, c *Client, r request) (got T, err error) {
	err = c.ask(ctx, &r, &got)
	return got, err
}

// create creates a permanent object.
func (c *Client) create(ctx context.Context, r request) (string, error) {
	var got created
	r.creates = true
	err := c.ask(ctx, &r, &got)
	return got.ID, err
}
