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

// A Conversation has a history and belongs to one user.
type Conversation struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Group     string    `json:"group"`
	Model     string    `json:"model"` // last model; not in lists
	Pinned    bool      `json:"pinned"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"` // zero if the service does not report it
	UserID    string    `json:"userId"`    // only in the list for administrators
}

// Changed returns the time of the last change or of the creation.
func (c *Conversation) Changed() time.Time {
	if c.UpdatedAt.IsZero() {
		return c.CreatedAt
	}
	return c.UpdatedAt
}

// A NewConversation is a conversation to create.
type NewConversation struct {
	ID    string `json:"id"` // chosen by the caller
	Group string `json:"group,omitempty"`
	Title string `json:"title,omitempty"` // required by older versions of the service
}

// created is the response to a creation.
type created struct {
	ID string `json:"id"`
}

func (c *created) check() error {
	if c.ID == "" {
		return errors.New("the response has no id")
	}
	return nil
}

// CreateConversation creates a conversation and returns its ID. The error is an fs.ErrExist if
// the ID is in use; after an earlier attempt that may have arrived, this counts as success.
func (c *Client) CreateConversation(ctx context.Context, n NewConversation) (string, error) {
	if n.ID == "" {
		return "", errors.New("create conversation: the ID is missing")
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

// Conversation returns a conversation.
func (c *Client) Conversation(ctx context.Context, id string) (Conversation, error) {
	return get[Conversation](ctx, c, request{op: "read conversation", subject: id, endpoint: "Conversation", ids: []string{id}})
}

// A ConversationFilter selects and sorts conversations. The zero value selects all in the order
// of the service.
type ConversationFilter struct {
	Group        string
	SortBy       string // "createdAt" or "updatedAt"
	Order        string // "asc" or "desc"
	ExcludeEmpty bool   // only conversations with messages
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

// Conversations lists the conversations of the user.
func (c *Client) Conversations(ctx context.Context, f ConversationFilter, pages ...Page) iter.Seq2[Conversation, error] {
	return list[Conversation](ctx, c, request{op: "list conversations", endpoint: "Conversations", query: f.query()}, pages)
}

// RenameConversation sets the title of a conversation. The request is a guess.
func (c *Client) RenameConversation(ctx context.Context, id, title string) error {
	return c.updateConversation(ctx, "rename conversation", id, map[string]any{"title": title})
}

// PinConversation keeps a conversation at the top of lists, or not. The request is a guess.
func (c *Client) PinConversation(ctx context.Context, id string, pinned bool) error {
	return c.updateConversation(ctx, "pin conversation", id, map[string]any{"pinned": pinned})
}

func (c *Client) updateConversation(ctx context.Context, op, id string, changes map[string]any) error {
	return c.ask(ctx, &request{op: op, subject: id, endpoint: "UpdateConversation", ids: []string{id}, body: jsonPayload(changes)}, nil)
}

// DeleteConversation deletes a conversation with its content. A missing conversation is no
// error.
func (c *Client) DeleteConversation(ctx context.Context, id string) error {
	return c.remove(ctx, &request{op: "delete conversation", subject: id, endpoint: "DeleteConversation", ids: []string{id}})
}

// remove deletes an object that may be missing.
func (c *Client) remove(ctx context.Context, r *request) error {
	if err := c.ask(ctx, r, nil); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A StoredMessage is a message of a conversation.
type StoredMessage struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`   // "user" or "assistant"
	Prompt     string          `json:"prompt"` // of the user
	Model      string          `json:"model"`  // chosen by the user
	Content    []StoredContent `json:"content"`
	Attributes json.RawMessage `json:"attributes"` // as sent
}

// StoredContent is a part of a message: an attachment of a prompt, or a part of a reply.
type StoredContent struct {
	ID       string `json:"id"`
	Type     string `json:"type"` // of a reply: "text", "modification", "mcp-tool-result" or "url"
	Content  string `json:"content"`
	Name     string `json:"name"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	ToolName string `json:"toolName"`
}

// Text returns the text of a reply.
func (m *StoredMessage) Text() string {
	var b strings.Builder
	for _, part := range m.Content {
		if part.Type == "text" {
			b.WriteString(part.Content)
		}
	}
	return b.String()
}

// Messages lists the messages of a conversation, oldest first.
func (c *Client) Messages(ctx context.Context, conversation string, pages ...Page) iter.Seq2[StoredMessage, error] {
	return list[StoredMessage](ctx, c, request{op: "list messages", subject: conversation, endpoint: "Messages", ids: []string{conversation}}, pages)
}

// A Message is a prompt with its content.
type Message struct {
	Prompt     string
	Model      string
	Content    []Item
	WebSearch  bool // allow web search
	Reasoning  bool // allow more time for reasoning
	Attributes any  // any value; returned with the stored message
	// InputTokens is the cost of the message for the token limit; 0 estimates it from the prompt
	// and texts. Files and earlier messages also count: see [EstimateTokens].
	InputTokens int
}

// An Item is a part of the content of a message.
type Item struct {
	Type     string     `json:"type"`
	ID       string     `json:"id,omitempty"`
	Content  string     `json:"content,omitempty"`
	FileID   string     `json:"fileId,omitempty"`   // in contexts
	PromptID string     `json:"promptId,omitempty"` // in contexts
	Select   []Selected `json:"selection,omitempty"`
}

// Selected is a part of a document.
type Selected struct {
	Start json.RawMessage `json:"start"`
	End   json.RawMessage `json:"end"`
}

// FileItem refers to a file of the conversation.
func FileItem(id string) Item { return Item{Type: "file", ID: id} }

// WebResourceItem refers to a web page of the conversation.
func WebResourceItem(id string) Item { return Item{Type: "web-resource", ID: id} }

// TextItem contains text, Markdown or HTML.
func TextItem(text string) Item { return Item{Type: "text", Content: text} }

// Send sends a message and returns the reply, which is billed. If the result is unknown, the
// error or that of the stream satisfies errors.Is(err, ErrMayBeBilled). The reply may then be
// in the conversation.
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
