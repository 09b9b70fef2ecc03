package aiservice

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum lengths in characters; guesses.
const (
	maxID    = 128
	maxTitle = 1000
)

// A conversation belongs to a user of an environment. Other users do not see it.
type conversation struct {
	seq              int64
	id, title, group string
	model            string // of the last message
	pinned           bool
	created, updated int64
	user             string
}

type conversationView struct {
	ID        string `json:"id"`
	UserID    string `json:"userId,omitempty"` // for administrators
	Title     string `json:"title"`
	Group     string `json:"group"`
	Model     string `json:"model,omitempty"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
	Pinned    bool   `json:"pinned"`
}

func (v conversation) view() conversationView {
	return conversationView{
		ID: v.id, Title: v.title, Group: v.group, Model: v.model,
		CreatedAt: timestamp(v.created), UpdatedAt: timestamp(v.updated), Pinned: v.pinned,
	}
}

const conversationColumns = `seq, id, title, "group", model, pinned, created, updated, user`

func readConversation(s scan) (v conversation, err error) {
	return v, s(&v.seq, &v.id, &v.title, &v.group, &v.model, &v.pinned, &v.created, &v.updated, &v.user)
}

// conversation returns the conversation in the path.
func (c *call) conversation(tx *sql.Tx) (conversation, error) {
	row := tx.QueryRow("SELECT "+conversationColumns+" FROM conversations WHERE environment = ? AND user = ? AND id = ?",
		c.who.environment, c.who.user, c.args[0])
	v, err := readConversation(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return v, notFound("conversation", c.args[0])
	}
	return v, err
}

// createConversation accepts the ID of the caller. The ID of a deleted conversation can be used
// again: a guess.
func (s *Server) createConversation(c *call) error {
	var in struct {
		ID    string `json:"id"`
		Group string `json:"group"`
		Title string `json:"title"`
	}
	if err := c.json(&in); err != nil {
		return err
	}
	var wrong issues
	wrong.need("id", in.ID)
	p := s.options.Profile
	longest := limit(p.MaxID, maxID)
	if utf8.RuneCountInString(in.ID) > longest || strings.ContainsFunc(in.ID, func(r rune) bool { return unicode.IsControl(r) || r == '/' }) {
		wrong.add("id", "must have at most %d characters, without control characters and slashes", longest)
	}
	if p.Group == "required" {
		wrong.need("group", in.Group)
	}
	wrong.longer("group", in.Group, maxID)
	wrong.longer("title", in.Title, maxTitle)
	if err := wrong.err(); err != nil {
		return err
	}
	if p.ReusedIDs == "refuse" && s.deleted.has(c.who, in.ID) {
		return refuse(http.StatusConflict, "conversation-id-used", "There was a conversation %q.", in.ID)
	}
	err := s.store.do(func(tx *sql.Tx) error {
		now := s.now().UnixMilli()
		made, err := changed(tx, `INSERT INTO conversations (environment, user, id, title, "group", created, updated)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, c.who.environment, c.who.user, in.ID, in.Title, in.Group, now, now)
		if err == nil && !made && p.TakenIDs != "accept" {
			return refuse(http.StatusConflict, "conversation-exists", "There is a conversation %q already.", in.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": in.ID})
}

// listConversations sorts by creation, newest first, by default: a guess.
func (s *Server) listConversations(c *call) error {
	l := listing{
		columns: conversationColumns, key: "created", seq: "seq", descending: true,
		from: "FROM conversations WHERE environment = ? AND user = ?", args: []any{c.who.environment, c.who.user},
	}
	var wrong issues
	switch c.query.Get("sortBy") {
	case "", "createdAt":
	case "updatedAt":
		l.key = "updated"
	default:
		wrong.add("sortBy", "must be createdAt or updatedAt")
	}
	switch c.query.Get("order") {
	case "", "desc":
	case "asc":
		l.descending = false
	default:
		wrong.add("order", "must be asc or desc")
	}
	if s.options.Profile.Order == "ignore" {
		l.descending = true
	}
	switch c.query.Get("excludeEmpty") {
	case "", "false":
	case "true":
		l.from += " AND EXISTS (SELECT 1 FROM messages WHERE conversation = conversations.seq)"
	default:
		wrong.add("excludeEmpty", "must be true or false")
	}
	if c.query.Has("group") {
		l.from, l.args = l.from+` AND "group" = ?`, append(l.args, c.query.Get("group"))
	}
	if err := wrong.err(); err != nil {
		return err
	}
	return list(c, l, func(read scan) (conversationView, error) {
		v, err := readConversation(read)
		return v.view(), err
	})
}

func (s *Server) getConversation(c *call) error {
	var v conversation
	err := s.store.do(func(tx *sql.Tx) (err error) {
		v, err = c.conversation(tx)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, v.view())
}

func (s *Server) patchConversation(c *call) error {
	var in struct {
		Title  *string `json:"title"`
		Pinned *bool   `json:"pinned"`
	}
	if err := c.json(&in); err != nil {
		return err
	}
	var wrong issues
	if in.Title != nil {
		wrong.longer("title", *in.Title, maxTitle)
	}
	if in.Title == nil && in.Pinned == nil {
		wrong.add("body", "needs title or pinned")
	}
	if err := wrong.err(); err != nil {
		return err
	}
	var v conversation
	err := s.store.do(func(tx *sql.Tx) (err error) {
		if v, err = c.conversation(tx); err != nil {
			return err
		}
		if in.Title != nil {
			v.title = *in.Title
		}
		if in.Pinned != nil {
			v.pinned = *in.Pinned
		}
		v.updated = s.now().UnixMilli()
		_, err = tx.Exec("UPDATE conversations SET title = ?, pinned = ?, updated = ? WHERE seq = ?", v.title, v.pinned, v.updated, v.seq)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, map[string]any{"title": v.title, "pinned": v.pinned})
}

// deleteConversation also deletes the contents of the conversation. A reply in progress is
// discarded.
func (s *Server) deleteConversation(c *call) error {
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.conversation(tx)
		if err == nil {
			_, err = tx.Exec("DELETE FROM conversations WHERE seq = ?", v.seq)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.deleted.bury(c.who, c.args[0])
	return c.Done()
}

// touch records a change in a conversation.
func (s *Server) touch(tx *sql.Tx, v conversation) error {
	_, err := tx.Exec("UPDATE conversations SET updated = ? WHERE seq = ?", s.now().UnixMilli(), v.seq)
	if err != nil {
		return fmt.Errorf("note the time: %w", err)
	}
	return nil
}

// longer records a text with more than most characters.
func (is *issues) longer(path, text string, most int) {
	if utf8.RuneCountInString(text) > most {
		is.add(path, "must have at most %d characters", most)
	}
}

func lower(s string) string { return strings.ToLower(s) }
