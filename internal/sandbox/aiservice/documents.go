package aiservice

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// maxDocuments is the maximum number of documents per request; a guess.
const maxDocuments = 100

// A document is the content of an editor. All fields except the content are opaque.
type document struct {
	Content     string          `json:"content"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Attributes  json.RawMessage `json:"attributes,omitempty"`
	Selections  json.RawMessage `json:"selections,omitempty"`
	// Version and the following fields are sent by editors in batches, in place of attributes.
	Version   json.RawMessage `json:"version,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	ChannelID string          `json:"channelId,omitempty"`
	RootName  string          `json:"rootName,omitempty"`
}

func (d document) attachment() (attachment, error) {
	given, err := attributes(d.Attributes)
	if err != nil {
		return attachment{}, err
	}
	a := attachment{kind: aDocument, id: newID(), name: d.Name, mediaType: "text/html", data: []byte(d.Content)}
	d.Content, d.Attributes = "", given
	if a.details, err = json.Marshal(d); err != nil {
		return attachment{}, fmt.Errorf("store a document: %w", err)
	}
	return a, nil
}

func documentView(a attachment) map[string]any {
	v := map[string]any{}
	_ = json.Unmarshal(a.details, &v) // encoded by this server
	v["id"], v["content"] = a.id, string(a.data)
	return v
}

func (s *Server) addDocument(c *call) error {
	var d document
	if err := c.json(&d); err != nil {
		return err
	}
	made, err := s.keepDocuments(c, d)
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, made[0])
}

// addDocuments responds with IDs in the order of the request.
func (s *Server) addDocuments(c *call) error {
	var all []document
	if err := c.json(&all); err != nil {
		return err
	}
	if len(all) == 0 || len(all) > maxDocuments {
		return malformed("body", "must be a list of 1 to %d documents", maxDocuments)
	}
	made, err := s.keepDocuments(c, all...)
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, made)
}

// keepDocuments stores all documents or none.
func (s *Server) keepDocuments(c *call, all ...document) (made []map[string]string, err error) {
	var attachments []attachment
	var wrong issues
	for i, d := range all {
		a, err := d.attachment()
		if err != nil {
			return nil, err
		}
		path := "content"
		if len(all) > 1 {
			path = fmt.Sprintf("%d.content", i)
		}
		wrong.need(path, d.Content)
		attachments, made = append(attachments, a), append(made, map[string]string{"id": a.id})
	}
	if err := wrong.err(); err != nil {
		return nil, err
	}
	return made, s.attach(c, nil, attachments...)
}

func (s *Server) listDocuments(c *call) error  { return s.listAttachments(c, aDocument, documentView) }
func (s *Server) getDocument(c *call) error    { return s.getAttachment(c, aDocument, documentView) }
func (s *Server) deleteDocument(c *call) error { return s.deleteAttachment(c, aDocument) }
