package aiservice

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"assetferry/internal/sandbox/answer"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
)

// An event is an event of a stream.
type event struct {
	name string
	data any
}

// fields are the data of an event.
type fields = map[string]any

// A reply is the answer to a question: its events and its stored message.
type reply struct {
	events []event
	text   string
	title  string // for a conversation without a title; otherwise empty
	body   storedMessage
	failed bool // nothing is stored
}

// reply invents the answer.
func (s *Server) reply(c *call, v conversation, q *question) reply {
	r := reply{body: storedMessage{ID: newID(), Role: "assistant"}}
	r.text = c.spoil(q.style().Reply(q.prompt(), slices.Concat(q.with, q.earlier, q.files), q.said()))
	r.say("message-metadata", fields{"messageId": r.body.ID})
	if q.reasoning() {
		r.say("reasoning", fields{})
		r.say("reasoning", fields{})
	}
	if q.webSearch() {
		r.search(q.prompt())
	}
	r.useTools(q)
	for _, d := range q.documents {
		r.say("document-read", fields{"method": "full", "documentId": d.id})
	}
	r.sayText(r.text)
	for _, d := range q.documents {
		r.modify(d, s.modified(c, q, string(d.data)))
	}
	if v.title == "" {
		r.title = answer.Title(q.prompt())
		r.say("conversation-title", fields{"conversationTitle": r.title})
	}
	r.events = s.ended(c, r.events, fields{"message": "The provider failed, as requested from the sandbox.", "cause": fields{"providerStatusCode": http.StatusServiceUnavailable}})
	r.failed = c.fault.Stream == fault.Error
	return r
}

func (r *reply) say(name string, data fields) { r.events = append(r.events, event{name, data}) }

// search adds a source that is obviously invented.
func (r *reply) search(prompt string) {
	source := said{
		ID: newID(), Type: "url", URL: "https://example.com/made-up-by-the-sandbox", Title: answer.Mark + ": " + answer.Title(prompt),
		Favicon: "https://example.com/favicon.ico",
	}
	r.say("web-search", fields{})
	r.say("source", fields{"source": fields{"type": "url", "id": source.ID, "url": source.URL, "title": source.Title, "favicon": source.Favicon}})
	r.body.Content = append(r.body.Content, source)
}

// useTools adds results of the tools for which the message has data.
func (r *reply) useTools(q *question) {
	for _, item := range q.Content {
		if item.Type != "mcp-tool-context" {
			continue
		}
		name := item.MCPServerName + "-" + item.ToolName
		result, _ := json.Marshal(fields{"data": item.Data, "attributes": fields{}}) // decoded from JSON
		r.say("mcp-tool-notification", fields{"toolName": name, "level": "info", "data": answer.Mark})
		r.say("mcp-tool-result", fields{"toolName": name, "result": string(result)})
		r.body.Content = append(r.body.Content, said{ID: newID(), Type: "mcp-tool-result", Content: new(string(result)), ToolName: name})
	}
}

func (r *reply) sayText(text string) {
	for _, delta := range deltas(text) {
		r.say("text-delta", fields{"textDelta": delta})
	}
	r.body.Content = append(r.body.Content, said{ID: newID(), Type: "text", Content: &text})
}

// modified returns a document after a prompt: the result of Document Processing, including its
// images, or else invented changes.
func (s *Server) modified(c *call, q *question, document string) string {
	style := q.style()
	if text := style.Process(q.prompt(), []string{document}, s.pictures(c, processingOptions{}.headers))[0].Document; text != document {
		return text
	}
	return style.ActCustom(q.prompt(), document, "html")
}

func (r *reply) modify(d attachment, text string) {
	id := newID()
	for _, delta := range deltas(text) {
		r.say("modification-delta", fields{"id": id, "textDelta": delta, "documentId": d.id})
	}
	r.body.Content = append(r.body.Content, said{ID: id, Type: "modification", Content: &text})
}

// finish stores a reply after its duration, with or without a connected client. The conversation
// can be used again before the last event is sent, so that a client that has seen it can continue.
func (s *Server) finish(c *call, v conversation, r reply, kept chan<- struct{}) {
	defer close(kept)
	defer s.replies.finish(v.seq)
	standin.Pause(s.closing, s.eventInterval(c)*time.Duration(len(r.events)-1))
	if r.failed {
		return
	}
	err := s.store.do(func(tx *sql.Tx) error {
		if r.title != "" {
			if _, err := tx.Exec("UPDATE conversations SET title = ? WHERE seq = ? AND title = ''", r.title, v.seq); err != nil {
				return err
			}
		}
		return s.keep(tx, v, r.text, r.body)
	})
	if _, deleted := errors.AsType[*problem](err); err != nil && !deleted {
		s.options.Log.Error("a reply could not be stored", "conversation", v.id, "error", err)
	}
}

// deltas splits a text into several parts like a model, never within a character.
func deltas(text string) (all []string) {
	characters := []rune(text)
	size := max(12, len(characters)/64+1)
	if len(characters) <= size {
		size = max(1, (len(characters)+1)/2)
	}
	for len(characters) > 0 {
		n := min(size, len(characters))
		all = append(all, string(characters[:n]))
		characters = characters[n:]
	}
	return all
}

// spoil returns the text of an answer after the fault of the call.
func (c *call) spoil(text string) string {
	switch c.fault.Stream {
	case fault.Garbled:
		return answer.Mark + ": I would rather write a story than { do as you " + strings.Repeat("say, ", 3)
	case fault.Fenced:
		return "Here is what you asked for:\n\n```json\n" + text + "\n```\n\nAnything else?"
	case fault.Empty:
		return ""
	}
	return text
}
