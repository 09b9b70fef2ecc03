package aiservice

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/internal/sandbox/answer"
	"assetferry/internal/sandbox/standin"
)

const (
	maxPrompt  = 100_000 // characters; the limit of the service on premises
	maxContent = 200     // items; a guess
)

// A message is a message of a user.
type message struct {
	Prompt       string                     `json:"prompt"`
	Model        string                     `json:"model"`
	Content      []contentItem              `json:"content"`
	Capabilities map[string]json.RawMessage `json:"capabilities"`
	Attributes   json.RawMessage            `json:"attributes"`
}

// A contentItem is a part of the content of a message. Its fields depend on its type.
type contentItem struct {
	Type          string          `json:"type"`
	ID            string          `json:"id,omitempty"`
	Content       string          `json:"content,omitempty"`
	Selection     json.RawMessage `json:"selection,omitempty"`
	EditorConfig  json.RawMessage `json:"editorConfig,omitempty"`
	MCPServerName string          `json:"mcpServerName,omitempty"`
	ToolName      string          `json:"toolName,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
	FileID        string          `json:"fileId,omitempty"`
	PromptID      string          `json:"promptId,omitempty"`
	Attributes    json.RawMessage `json:"attributes,omitempty"`
}

// A said is a part of a message in a response.
type said struct {
	ID            string          `json:"id"`
	Type          string          `json:"type"`
	Content       *string         `json:"content,omitempty"` // nil for a source
	Name          string          `json:"name,omitempty"`
	URL           string          `json:"url,omitempty"`
	Title         string          `json:"title,omitempty"`   // of a source
	Favicon       string          `json:"favicon,omitempty"` // of a source
	MCPServerName string          `json:"mcpServerName,omitempty"`
	ToolName      string          `json:"toolName,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
	FileID        string          `json:"fileId,omitempty"`   // of a context
	PromptID      string          `json:"promptId,omitempty"` // of a context
	Attributes    json.RawMessage `json:"attributes,omitempty"`
}

// A storedMessage is a message in a response.
type storedMessage struct {
	ID           string                     `json:"id"`
	Role         string                     `json:"role"`
	Prompt       string                     `json:"prompt,omitempty"`
	Model        string                     `json:"model,omitempty"`
	Capabilities map[string]json.RawMessage `json:"capabilities,omitempty"`
	Attributes   json.RawMessage            `json:"attributes,omitempty"`
	Content      []said                     `json:"content"`
}

func (m message) webSearch() bool { _, on := m.Capabilities["webSearch"]; return on }
func (m message) reasoning() bool { _, on := m.Capabilities["reasoning"]; return on }

// check refuses an invalid message.
func (m message) check() error {
	var wrong issues
	if !hasContext(m.Content) {
		wrong.need("prompt", strings.TrimSpace(m.Prompt))
	}
	wrong.longer("prompt", m.Prompt, maxPrompt)
	wrong.need("model", m.Model)
	for name, value := range m.Capabilities {
		if name != "webSearch" && name != "reasoning" {
			wrong.add("capabilities."+name, "is not known")
		} else if o, ok := standin.DecodeObject(value); !ok || len(o) > 0 {
			wrong.add("capabilities."+name, "must be an empty object; omit it to disable the capability")
		}
	}
	if len(m.Content) > maxContent {
		wrong.add("content", "must have at most %d items", maxContent)
	}
	for i, item := range m.Content {
		item.check(fmt.Sprintf("content.%d", i), &wrong)
	}
	if _, err := attributes(m.Attributes); err != nil {
		wrong.add("attributes", "must be an object")
	}
	return wrong.err()
}

func (i contentItem) check(path string, wrong *issues) {
	switch i.Type {
	case aDocument, aFile, aWebResource:
		wrong.need(path+".id", i.ID)
	case aContext:
		wrong.need(path+".id", i.ID)
		if i.FileID != "" && i.PromptID != "" {
			wrong.add(path, "must not have both fileId and promptId")
		}
	case "text":
		wrong.need(path+".content", i.Content)
	case "selection":
		if i.Content == "" && len(i.Selection) == 0 {
			wrong.add(path, "needs content or selection")
		}
	case "mcp-tool-context":
		wrong.need(path+".mcpServerName", i.MCPServerName)
		if len(i.Data) == 0 {
			wrong.add(path+".data", "is required")
		}
		wrong.longer(path+".id", i.ID, 21)
	default:
		wrong.add(path+".type", "%q is not known", i.Type)
	}
}

// permit checks a message against the capabilities of its model and the scopes of the token.
func (s *Server) permit(c *call, in message) (Model, error) {
	m, err := s.usable(c, in.Model)
	if err != nil {
		return m, err
	}
	var needed [][]string
	if in.webSearch() {
		needed = append(needed, useWebSearch())
	}
	if in.reasoning() {
		needed = append(needed, []string{useReasoning})
	}
	if hasContext(in.Content) {
		needed = append(needed, []string{readContexts})
	}
	if err := c.who.need(needed...); err != nil {
		return m, err
	}
	if in.webSearch() && !m.WebSearch {
		return m, malformed("capabilities.webSearch", "is not supported by %s", m.ID)
	}
	if in.reasoning() && !m.Reasoning {
		return m, malformed("capabilities.reasoning", "is not supported by %s", m.ID)
	}
	return m, nil
}

// A question is a message with its attachments and history.
type question struct {
	message
	model     Model
	with      []answer.Attachment
	earlier   []answer.Attachment // attachments of earlier messages
	documents []attachment
	history   []string
	parts     []said // as in responses
	knowledge
}

// prompt returns the prompt of the message, or else the text of its contexts.
func (q *question) prompt() string { return q.promptOr(q.Prompt) }

// said returns the instructions of the contexts and the earlier messages.
func (q *question) said() []string { return slices.Concat(q.instructions, q.history) }

// gather reads the objects that a message refers to, and the earlier messages.
func (s *Server) gather(tx *sql.Tx, c *call, v conversation, q *question) error {
	for _, item := range q.Content {
		if err := q.take(tx, c, v, item); err != nil {
			return err
		}
	}
	if strings.TrimSpace(q.prompt()) == "" {
		return malformed("prompt", "is required, because the contexts have none")
	}
	if err := q.addReferred(tx, c.who.environment, v); err != nil {
		return err
	}
	if err := q.addAutomatic(tx, c.who.environment, featureConversations); err != nil {
		return err
	}
	if err := q.remember(tx, v); err != nil {
		return err
	}
	return rows(tx, "SELECT said FROM messages WHERE conversation = ? ORDER BY seq", []any{v.seq}, func(s scan) error {
		var text string
		err := s(&text)
		q.history = append(q.history, text)
		return err
	})
}

// remember adds the attachments of earlier messages that still exist, because a model receives the
// complete conversation.
func (q *question) remember(tx *sql.Tx, v conversation) error {
	const query = "SELECT " + attachmentColumns + ` FROM attachments WHERE conversation = ? AND EXISTS (
		SELECT 1 FROM messages, json_each(messages.body, '$.content') AS part
		WHERE messages.conversation = attachments.conversation AND messages.body ->> '$.role' = 'user'
		AND part.value ->> '$.type' = attachments.kind AND part.value ->> '$.id' = attachments.id) ORDER BY seq`
	return rows(tx, query, []any{v.seq}, func(s scan) error {
		a, err := readAttachment(s)
		if !slices.ContainsFunc(q.parts, func(p said) bool { return p.Type == a.kind && p.ID == a.id }) {
			q.earlier = append(q.earlier, a.forAnswer())
		}
		return err
	})
}

// take adds an item.
func (q *question) take(tx *sql.Tx, c *call, v conversation, item contentItem) error {
	part := said{
		ID: item.ID, Type: item.Type, Content: &item.Content, MCPServerName: item.MCPServerName, ToolName: item.ToolName,
		Data: item.Data, Attributes: item.Attributes, FileID: item.FileID, PromptID: item.PromptID,
	}
	switch item.Type {
	case aDocument, aFile, aWebResource:
		a, err := selectAttachment(tx, v.seq, item.Type, item.ID)
		if err != nil {
			return err
		}
		part.Name, part.URL = a.name, a.url
		q.with = append(q.with, a.forAnswer())
		if a.kind == aDocument {
			q.documents = append(q.documents, a)
		}
	case aContext:
		if err := q.add(tx, c.who.environment, item); err != nil {
			return err
		}
	case "text", "selection":
		q.with = append(q.with, answer.Attachment{Type: "text/plain", Data: []byte(item.Content + string(item.Selection))})
	}
	if part.ID == "" {
		part.ID = newID()
	}
	q.parts = append(q.parts, part)
	return nil
}

// size refuses images and texts that exceed the limits of the model.
func (q *question) size() error {
	characters := utf8.RuneCountInString(q.Prompt)
	for _, text := range q.said() {
		characters += utf8.RuneCountInString(text)
	}
	for _, a := range slices.Concat(q.with, q.earlier, q.files) {
		if strings.HasPrefix(a.Type, "image/") {
			if len(a.Data) > q.model.MaxImageSize {
				return imageTooLarge(q.model.MaxImageSize)
			}
			continue
		}
		characters += utf8.RuneCountInString(answer.TextOf(a))
	}
	if most := q.model.MaxContextLength; characters > most {
		// Status and code are guesses.
		return refuse(http.StatusRequestEntityTooLarge, "content-too-large", "The message and its attachments have %d characters; %s accepts %d.",
			characters, q.model.ID, most).with("limit", most)
	}
	return nil
}

// bill includes the history, even if the model has it cached; for the models of one provider,
// cached history is free.
func (q *question) bill(c *call) bill {
	text, with := q.Prompt+"\n"+q.knowledge.text(), slices.Concat(q.with, q.files)
	if q.model.Provider != "Anthropic" {
		text, with = text+"\n"+strings.Join(q.history, "\n"), slices.Concat(with, q.earlier)
	}
	searches := 0
	if q.webSearch() {
		searches = 1
	}
	return newBill(c, q.model, answer.Tokens(text, with), searches)
}

// sendMessage responds to a message.
func (s *Server) sendMessage(c *call) error {
	var in message
	if err := c.json(&in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	m, err := s.permit(c, in)
	if err != nil {
		return err
	}
	var v conversation
	if err := s.store.do(func(tx *sql.Tx) (err error) { v, err = c.conversation(tx); return err }); err != nil {
		return err
	}
	if !s.replies.begin(v.seq) {
		p := refuse(http.StatusConflict, "conversation-in-use", "A reply is under way in the conversation %q.", v.id)
		p.action = "Wait for its end, or use a new conversation."
		return p
	}
	r, err := s.ask(c, v, &question{message: in, model: m})
	if err != nil {
		s.replies.finish(v.seq)
		return err
	}
	kept := make(chan struct{})
	go s.finish(c, v, r, kept)
	return c.stream(r.events, kept)
}

// ask bills and stores a question, and returns the reply.
func (s *Server) ask(c *call, v conversation, q *question) (reply, error) {
	if err := s.store.do(func(tx *sql.Tx) error { return s.gather(tx, c, v, q) }); err != nil {
		return reply{}, err
	}
	if err := q.size(); err != nil {
		return reply{}, err
	}
	if err := flagged(answer.Moderate(q.prompt())); err != nil {
		return reply{}, err
	}
	r := s.reply(c, v, q)
	return r, s.charge(c, q.bill(c), func(tx *sql.Tx) error {
		if _, err := tx.Exec("UPDATE conversations SET model = ? WHERE seq = ?", q.model.ID, v.seq); err != nil {
			return err
		}
		return s.keep(tx, v, q.Prompt, storedMessage{
			ID: newID(), Role: "user", Prompt: q.Prompt, Model: q.model.ID, Capabilities: q.Capabilities, Attributes: q.Attributes, Content: q.parts,
		})
	})
}

// keep adds a message to a conversation, unless it was deleted.
func (s *Server) keep(tx *sql.Tx, v conversation, text string, m storedMessage) error {
	if m.Content == nil {
		m.Content = []said{}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	there, err := changed(tx, "INSERT INTO messages (conversation, said, body) SELECT seq, ?, ? FROM conversations WHERE seq = ?", text, string(body), v.seq)
	if err != nil {
		return err
	}
	if !there {
		return notFound("conversation", v.id)
	}
	return s.touch(tx, v)
}

// listMessages lists the messages in order.
func (s *Server) listMessages(c *call) error {
	var p page[json.RawMessage]
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err != nil {
			return err
		}
		l := listing{columns: "body", key: "seq", seq: "seq", from: "FROM messages WHERE conversation = ?", args: []any{v.seq}}
		p, err = pageOf(tx, c, l, func(read scan) (json.RawMessage, error) {
			var body string
			err := read(&body)
			return json.RawMessage(body), err
		})
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}
