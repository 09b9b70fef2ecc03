package ai

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"assetferry/internal/ai/sse"
	"assetferry/internal/outbound"
)

// An Event is a part of an answer. Those that are not known are never handed out.
type Event interface{ event() }

type (
	// MessageMetadata begins the reply to a message.
	MessageMetadata struct {
		MessageID string `json:"messageId"`
	}
	// ActionMetadata begins the answer to an action.
	ActionMetadata struct {
		CallID string `json:"callId"`
	}
	// ReviewMetadata begins a review. Its field is a guess.
	ReviewMetadata struct {
		CallID string `json:"callId"`
	}
	// ProcessingMetadata begins the processing of documents. All of it is a guess.
	ProcessingMetadata struct {
		CallID string `json:"callId"`
	}

	// TextDelta is the next part of a text, which is Markdown or HTML.
	TextDelta struct {
		Text string `json:"textDelta"`
	}
	// Reasoning says that the model thinks.
	Reasoning struct{}
	// WebSearch says that the model searches the web, or has failed to.
	WebSearch struct{}
	// Source is a page that the answer draws upon.
	Source struct {
		ID      string `json:"id"`
		URL     string `json:"url"`
		Title   string `json:"title"`
		Favicon string `json:"favicon"`
	}
	// DocumentRead says that the model read a document, and how.
	DocumentRead struct {
		Method string `json:"method"`
	}
	// ModificationDelta is the next part of a changed text, all parts of which have one ID.
	ModificationDelta struct {
		ID         string `json:"id"`
		Text       string `json:"textDelta"`
		DocumentID string `json:"documentId"` // of a document in a conversation; may be empty
	}
	// ConversationTitle is what the service calls the conversation.
	ConversationTitle struct {
		Title string `json:"conversationTitle"`
	}
	// MCPToolResult is what a tool of the environment gave. The name begins with that of its
	// server.
	MCPToolResult struct {
		ToolName string `json:"toolName"`
		Result   string `json:"result"` // may hold JSON
	}
	// MCPToolNotification is what a tool said meanwhile.
	MCPToolNotification struct {
		ToolName string          `json:"toolName"`
		Data     json.RawMessage `json:"data"`
		Level    string          `json:"level"` // "debug" to "emergency"; may be empty
	}
	// ReviewDelta is the next part of what a review makes of the element with this data-id.
	// Which fields say so is a guess, so several are read.
	ReviewDelta struct{ DataID, Text string }
	// DocumentDelta is the next part of a document that is processed. It is a guess.
	DocumentDelta struct {
		Index int    `json:"documentIndex"` // among those that were sent, from 0
		Text  string `json:"textDelta"`
	}
	// SummaryDelta is the next part of what is said about changes to a document. It is a guess.
	SummaryDelta struct {
		Index int    `json:"documentIndex"`
		Text  string `json:"textDelta"`
	}
)

func (MessageMetadata) event()     {}
func (ActionMetadata) event()      {}
func (ReviewMetadata) event()      {}
func (ProcessingMetadata) event()  {}
func (TextDelta) event()           {}
func (Reasoning) event()           {}
func (WebSearch) event()           {}
func (Source) event()              {}
func (DocumentRead) event()        {}
func (ModificationDelta) event()   {}
func (ConversationTitle) event()   {}
func (MCPToolResult) event()       {}
func (MCPToolNotification) event() {}
func (ReviewDelta) event()         {}
func (DocumentDelta) event()       {}
func (SummaryDelta) event()        {}

// decode makes an event of what came. One that is not known is nil; the last one is io.EOF.
func decode(raw sse.Event) (Event, error) {
	name, data := unwrap(raw)
	switch name {
	case "done":
		return nil, io.EOF
	case "error":
		return nil, parseStreamError(data)
	}
	read := reader(name)
	if read == nil {
		return nil, nil
	}
	event, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	return event, nil
}

// unwrap takes an event out of the envelope in which older versions of the service put it:
// {"event": "text-delta", "data": {"textDelta": "..."}}.
func unwrap(raw sse.Event) (name string, data []byte) {
	data = []byte(raw.Data)
	if !strings.Contains(raw.Data, `"event"`) { // nearly always
		return raw.Name, data
	}
	var envelope struct {
		Event string
		Data  json.RawMessage
	}
	if json.Unmarshal(data, &envelope) != nil || envelope.Event == "" || envelope.Data == nil {
		return raw.Name, data
	}
	if raw.Name != "message" && raw.Name != envelope.Event {
		return raw.Name, data // a payload that happens to have such keys
	}
	return envelope.Event, envelope.Data
}

// as reads an event of a kind.
func as[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}

// reader is what reads events of a name; nil if that is not known.
func reader(name string) func([]byte) (Event, error) {
	switch name {
	case "message-metadata":
		return as[MessageMetadata]
	case "action-metadata":
		return as[ActionMetadata]
	case "review-metadata":
		return as[ReviewMetadata]
	case "document-processing-metadata":
		return as[ProcessingMetadata]
	case "text-delta":
		return as[TextDelta]
	case "reasoning":
		return func([]byte) (Event, error) { return Reasoning{}, nil }
	case "web-search":
		return func([]byte) (Event, error) { return WebSearch{}, nil }
	case "source":
		return readSource
	case "document-read":
		return as[DocumentRead]
	case "modification-delta":
		return as[ModificationDelta]
	case "conversation-title":
		return as[ConversationTitle]
	case "mcp-tool-result":
		return as[MCPToolResult]
	case "mcp-tool-notification":
		return as[MCPToolNotification]
	case "review-delta":
		return readReviewDelta
	case "document-delta":
		return as[DocumentDelta]
	case "summary-delta":
		return as[SummaryDelta]
	}
	return nil
}

func readSource(data []byte) (Event, error) {
	var e struct{ Source Source }
	err := json.Unmarshal(data, &e)
	return e.Source, err
}

// readReviewDelta takes what is there of the fields that the text and its element may be in.
func readReviewDelta(data []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	first := func(keys ...string) (s string) {
		for _, key := range keys {
			if json.Unmarshal(fields[key], &s) == nil && s != "" {
				break
			}
		}
		return s
	}
	return ReviewDelta{DataID: first("dataId", "data-id", "elementId", "id"), Text: first("textDelta", "text", "content", "suggestion")}, nil
}

// parseStreamError reads what is there: no field of it is sure.
func parseStreamError(data []byte) *StreamError {
	var e struct {
		Message   string
		Retryable *bool
		Cause     struct{ ProviderStatusCode int }
	}
	_ = json.Unmarshal(data, &e) // what is readable is set all the same
	return &StreamError{Message: outbound.Printable(e.Message), ProviderStatus: e.Cause.ProviderStatusCode, Retryable: e.Retryable}
}
