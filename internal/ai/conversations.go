package ai

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"net/url"
	"strings"
	"time"

	"assetferry/internal/retry"
)

// A Conversation keeps its history, and belongs to the user who made it: nobody else sees it.
type Conversation struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Group     string    `json:"group"`
	Model     string    `json:"model"` // that was asked last; not in listings
	Pinned    bool      `json:"pinned"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"` // zero if the service does not say
	UserID    string    `json:"userId"`    // in the listing for administrators only
}

// Changed is when it was changed last, or made.
func (c *Conversation) Changed() time.Time {
	if c.UpdatedAt.IsZero() {
		return c.CreatedAt
	}
	return c.UpdatedAt
}

// A NewConversation is to be made.
type NewConversation struct {
	ID    string `json:"id"` // the caller's choice, and nobody else's yet
	Group string `json:"group,omitempty"`
	Title string `json:"title,omitempty"` // older versions of the service take one
}

// created is the answer to what makes something.
type created struct {
	ID string `json:"id"`
}

func (c *created) check() error {
	if c.ID == "" {
		return errors.New("it holds no id")
	}
	return nil
}

// CreateConversation makes a conversation and returns its ID. One that is taken is an
// fs.ErrExist; if an earlier try of this very call may have arrived, it is taken for ours.
func (c *Client) CreateConversation(ctx context.Context, n NewConversation) (string, error) {
	if n.ID == "" {
		return "", errors.New("create conversation: no ID given")
	}
	maybe := false
	err := c.ask(ctx, &request{
		op: "create conversation", subject: n.ID, endpoint: "CreateConversation", body: jsonPayload(n),
		onError: func(e *Error) { maybe = maybe || e.Err != nil && !e.resend || e.class == retry.Transient },
	}, nil)
	if maybe && errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return "", err
	}
	return n.ID, nil
}

// Conversation reads one conversation.
func (c *Client) Conversation(ctx context.Context, id string) (Conversation, error) {
	return get[Conversation](ctx, c, request{op: "read conversation", subject: id, endpoint: "Conversation", ids: []string{id}})
}

// A ConversationFilter says which conversations are listed, and in which order. The zero one
// is all of them in the service's own order.
type ConversationFilter struct {
	Group        string
	SortBy       string // "createdAt" or "updatedAt"
	Order        string // "asc" or "desc"
	ExcludeEmpty bool   // without those that hold no message
}

func (f ConversationFilter) query() url.Values {
	query := url.Values{}
	for key, value := range map[string]string{"group": f.Group, "sortBy": f.SortBy, "order": f.Order} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if f.ExcludeEmpty {
		query.Set("excludeEmpty", "true")
	}
	return query
}

// Conversations lists those of the user of the token.
func (c *Client) Conversations(ctx context.Context, f ConversationFilter, pages ...Page) iter.Seq2[Conversation, error] {
	return list[Conversation](ctx, c, request{op: "list conversations", endpoint: "Conversations", query: f.query()}, pages)
}

// RenameConversation sets the title of a conversation. How is a guess.
func (c *Client) RenameConversation(ctx context.Context, id, title string) error {
	return c.updateConversation(ctx, "rename conversation", id, map[string]any{"title": title})
}

// PinConversation has a conversation stay on top of lists, or no longer. How is a guess.
func (c *Client) PinConversation(ctx context.Context, id string, pinned bool) error {
	return c.updateConversation(ctx, "pin conversation", id, map[string]any{"pinned": pinned})
}

func (c *Client) updateConversation(ctx context.Context, op, id string, changes map[string]any) error {
	return c.ask(ctx, &request{op: op, subject: id, endpoint: "UpdateConversation", ids: []string{id}, body: jsonPayload(changes)}, nil)
}

// DeleteConversation deletes a conversation with all that is in it. That it is gone already is
// no error.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete conversation", subject: id, endpoint: "DeleteConversation", ids: []string{id}})
}

// remove deletes something that may be gone already.
func (c *Client) remove(ctx context.Context, r *request) error {
	if err := c.ask(ctx, r, nil); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A StoredMessage is one that was said in a conversation.
type StoredMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`   // "user" or "assistant"
	Prompt     string          `json:"prompt"` // of the user
	Model      string          `json:"model"`  // that the user chose
	Content    []StoredContent `json:"content"`
	Attributes json.RawMessage `json:"attributes"` // as they were sent
}

// StoredContent is a part of a message: what was attached to a prompt, or a part of a reply.
type StoredContent struct {
	ID       string `json:"id"`
	Type     string `json:"type"` // of a reply: "text", "modification", "mcp-tool-result" or "url"
	Content  string `json:"content"`
	Name     string `json:"name"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	ToolName string `json:"toolName"`
}

// Text joins the text of a reply.
func (m *StoredMessage) Text() string {
	var b strings.Builder
	for _, part := range m.Content {
		if part.Type == "text" {
			b.WriteString(part.Content)
		}
	}
	return b.String()
}

// Messages lists what was said in a conversation, the oldest first.
func (c *Client) Messages(ctx context.Context, conversation string, pages ...Page) iter.Seq2[StoredMessage, error] {
	return list[StoredMessage](ctx, c, request{op: "list messages", subject: conversation, endpoint: "Messages", ids: []string{conversation}}, pages)
}

// A Message is a prompt with what it is about.
type Message struct {
	Prompt     string
	Model      string
	Content    []Item
	WebSearch  bool // let the model search the web
	Reasoning  bool // let the model think longer
	Attributes any  // opaque; comes back with the stored message
	// InputTokens is what the message is taken for in the budget; 0 estimates the prompt and
	// the texts in Content. Files and what was said before count, too: see [EstimateTokens].
	InputTokens int
}

// An Item is something that a message is about.
type Item struct {
	Type     string     `json:"type"`
	ID       string     `json:"id,omitempty"`
	Content  string     `json:"content,omitempty"`
	FileID   string     `json:"fileId,omitempty"`   // of a context
	PromptID string     `json:"promptId,omitempty"` // of a context
	Select   []Selected `json:"selection,omitempty"`
}

// Selected is a part of a document.
type Selected struct {
	Start json.RawMessage `json:"start"`
	End   json.RawMessage `json:"end"`
}

// FileItem refers to a file of the conversation.
func FileItem(id string) Item { return Item{Type: "file", ID: id} }

// WebResourceItem refers to a page of the conversation.
func WebResourceItem(id string) Item { return Item{Type: "web-resource", ID: id} }

// TextItem is a text, Markdown or HTML as it is.
func TextItem(text string) Item { return Item{Type: "text", Content: text} }

// Send sends a message and returns its reply, which is billed. If what came of it is not
// known, the error satisfies errors.Is(err, ErrMayBeBilled), here or from the stream; the
// reply may be among the messages of the conversation then.
func (c *Client) Send(ctx context.Context, conversation string, m Message) (*Stream, error) {
	body := map[string]any{"prompt": m.Prompt, "model": m.Model}
	if len(m.Content) > 0 {
		body["content"] = m.Content
	}
	if m.Attributes != nil {
		body["attributes"] = m.Attributes
	}
	// A capability is an empty object; true is refused.
	capabilities := map[string]struct{}{}
	cost := Cost{LLM: 1, Tokens: m.InputTokens}
	if m.WebSearch {
		capabilities["webSearch"], cost.Search = struct{}{}, 1
	}
	if m.Reasoning {
		capabilities["reasoning"] = struct{}{}
	}
	if len(capabilities) > 0 {
		body["capabilities"] = capabilities
	}
	if cost.Tokens == 0 {
		cost.Tokens = EstimateTokens(m.Prompt, 0) + tokensOf(m.Content)
	}
	return c.stream(ctx, &request{
		op: "send message", subject: conversation, endpoint: "Send", ids: []string{conversation},
		body: jsonPayload(body), billable: true, cost: cost,
	})
}

func tokensOf(content []Item) (tokens int) {
	for _, item := range content {
		tokens += EstimateTokens(item.Content, 0)
	}
	return tokens
}
