package aiservice

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"

	"assetferry/internal/sandbox/answer"
	"assetferry/internal/sandbox/standin"
)

// The kinds of attachments of a conversation.
const (
	aDocument    = "document"
	aFile        = "file"
	aWebResource = "web-resource"
)

// An attachment is a document, a file or a web page of a conversation.
type attachment struct {
	kind, id, name, mediaType, url string
	pages                          int
	details                        json.RawMessage // as sent by the client
	data                           []byte
}

func (a attachment) forAnswer() answer.Attachment {
	return answer.Attachment{Name: a.name, Type: a.mediaType, Data: a.data}
}

// newID returns 21 characters, as in IDs of the service.
func newID() string { return rand.Text()[:21] }

func insertAttachment(tx *sql.Tx, conversation int64, a attachment) error {
	if a.details == nil {
		a.details = json.RawMessage("{}")
	}
	if a.data == nil {
		a.data = []byte{}
	}
	_, err := tx.Exec("INSERT INTO attachments (conversation, kind, id, name, type, url, pages, details, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		conversation, a.kind, a.id, a.name, a.mediaType, a.url, a.pages, string(a.details), a.data)
	return err
}

const attachmentColumns = "kind, id, name, type, url, pages, details, data"

func readAttachment(s scan) (a attachment, err error) {
	var details string
	err = s(&a.kind, &a.id, &a.name, &a.mediaType, &a.url, &a.pages, &details, &a.data)
	a.details = json.RawMessage(details)
	return a, err
}

func selectAttachment(tx *sql.Tx, conversation int64, kind, id string) (attachment, error) {
	a, err := readAttachment(tx.QueryRow("SELECT "+attachmentColumns+" FROM attachments WHERE conversation = ? AND kind = ? AND id = ?",
		conversation, kind, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return a, notFound(kind, id)
	}
	return a, err
}

// attach adds attachments to the conversation in the path, if check returns no error.
func (s *Server) attach(c *call, check func(*sql.Tx, conversation) error, all ...attachment) error {
	return s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err != nil {
			return err
		}
		if check != nil {
			if err := check(tx, v); err != nil {
				return err
			}
		}
		for _, a := range all {
			if err := insertAttachment(tx, v.seq, a); err != nil {
				return err
			}
		}
		return s.touch(tx, v)
	})
}

// listAttachments lists the attachments of a kind, oldest first.
func (s *Server) listAttachments(c *call, kind string, view func(attachment) map[string]any) error {
	var p page[map[string]any]
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err != nil {
			return err
		}
		l := listing{
			columns: attachmentColumns, key: "seq", seq: "seq",
			from: "FROM attachments WHERE conversation = ? AND kind = ?", args: []any{v.seq, kind},
		}
		p, err = pageOf(tx, c, l, func(read scan) (map[string]any, error) {
			a, err := readAttachment(read)
			return view(a), err
		})
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}

func (s *Server) getAttachment(c *call, kind string, view func(attachment) map[string]any) error {
	var a attachment
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err == nil {
			a, err = selectAttachment(tx, v.seq, kind, c.args[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, view(a))
}

func (s *Server) deleteAttachment(c *call, kind string) error {
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err != nil {
			return err
		}
		deleted, err := changed(tx, "DELETE FROM attachments WHERE conversation = ? AND kind = ? AND id = ?", v.seq, kind, c.args[1])
		if err == nil && !deleted {
			return notFound(kind, c.args[1])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Done()
}

// attributes checks that attributes, if any, are an object.
func attributes(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if _, ok := standin.DecodeObject(raw); !ok {
		return nil, malformed("attributes", "must be an object")
	}
	return raw, nil
}
