package ai

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"assetferry/internal/ai/sse"
	"assetferry/internal/outbound"
)

// An Event is a part of an answer. Unknown events are skipped.
type Event interface{ event() }

type (
	// MessageMetadata starts the reply to a message.
	MessageMetadata struct {
		MessageID string `json:"messageId"`
	}
	// ActionMetadata starts the answer to an action.
	ActionMetadata struct {
		CallID string `json:"callId"`
	}
	// ReviewMetadata starts a review. Its field is a guess.
	ReviewMetadata struct {
		CallID string `json:"callId"`
	}
	// ProcessingMetadata starts the processing of documents. All of it is a guess.
	ProcessingMetadata struct {
		CallID string `json:"callId"`
	}

	// TextDelta is the next part of a text in Markdown or HTML.
	TextDelta struct {
		Text string `json:"textDelta"`
	}
	// Reasoning reports that the model is reasoning.
	Reasoning struct{}
	// WebSearch reports a web search or its failure.
	WebSearch struct{}
	// Source is a web page that the answer uses.
	Source struct {
		ID      string `json:"id"`
		URL     string `json:"url"`
		Title   string `json:"title"`
		Favicon string `json:"favicon"`
	}
	// DocumentRead reports that the model read a document.
	DocumentRead struct {
		Method string `json:"method"`
	}
	// ModificationDelta is the next part of a changed text. All parts have the same ID.
	ModificationDelta struct {
		ID         string `json:"id"`
		Text       string `json:"textDelta"`
		DocumentID string `json:"documentId"` // of a document in a conversation; may be ""
	}
	// ConversationTitle is the title of the conversation.
	ConversationTitle struct {
		Title string `json:"conversationTitle"`
	}
	// MCPToolResult is the result of a tool. The name begins with that of its server.
	MCPToolResult struct {
		ToolName string `json:"toolName"`
		Result   string `json:"result"` // may contain JSON
	}
	// MCPToolNotification is a message of a tool.
	MCPToolNotification struct {
		ToolName string          `json:"toolName"`
		Data     json.RawMessage `json:"data"`
		Level    string          `json:"level"` // "debug" to "emergency"; may be ""
	}
	// ReviewDelta is the next part of the suggestion for the element with this data-id. The
	// fields are a guess, so several are read.
	ReviewDelta struct{ DataID, Text string }
	// DocumentDelta is the next part of a processed document. It is a guess.
	DocumentDelta struct {
		Index int    `json:"documentIndex"` // index in the request
		Text  string `json:"textDelta"`
	}
	// SummaryDelta is the next part of the summary for a document. It is a guess.
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

// decode decodes an event. Unknown events are nil; the last one is io.EOF.
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

// unwrap removes the envelope of older versions of the service: {"event": "text-delta", "data":
// {"textDelta": "..."}}.
func unwrap(raw sse.Event) (name string, data []byte) {
	data = []byte(raw.Data)
	if !strings.Contains(raw.Data, `"event"`) { // the usual case
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
		return raw.Name, data // a payload with the same keys by chance
	}
	return envelope.Event, envelope.Data
}

// as decodes an event of a type.
func as[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}

// reader returns the decoder for an event name, or nil.
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

// readReviewDelta reads all possible fields for the text and its element.
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

// parseStreamError reads the existing fields: none is certain.
func parseStreamError(data []byte) *StreamError {
	var e struct {
		Message   string
		Retryable *bool
		Cause     struct{ ProviderStatusCode int }
	}
	_ = json.Unmarshal(data, &e) // readable fields are set anyway
	return &StreamError{Message: outbound.Printable(e.Message), ProviderStatus: e.Cause.ProviderStatusCode, Retryable: e.Retryable}
}
