package aiservice

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A contextRow is a context: prompts and files for a complete environment, and instructions. Only
// prompts and files are documented; the routes and the form of contexts are guesses.
type contextRow struct {
	seq          int64
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Instructions string   `json:"instructions"`
	AutoApply    []string `json:"autoApply"`
	CreatedAt    string   `json:"createdAt"`
	Prompts      []part   `json:"prompts"`
	Files        []part   `json:"files"`
}

// A part is a prompt or a file in the list of a context, for clients that show it.
type part struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

const contextColumns = "seq, id, name, description, instructions, auto_apply, created, " +
	"(SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT id, name FROM prompts WHERE context = contexts.seq ORDER BY seq)), " +
	"(SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT id, name FROM context_files WHERE context = contexts.seq ORDER BY seq))"

func readContext(s scan) (v contextRow, err error) {
	var features, prompts, files string
	var created int64
	if err := s(&v.seq, &v.ID, &v.Name, &v.Description, &v.Instructions, &features, &created, &prompts, &files); err != nil {
		return v, err
	}
	v.CreatedAt = timestamp(created)
	return v, errors.Join(json.Unmarshal([]byte(features), &v.AutoApply), json.Unmarshal([]byte(prompts), &v.Prompts), json.Unmarshal([]byte(files), &v.Files))
}

func selectContext(tx *sql.Tx, environment, id string) (contextRow, error) {
	v, err := readContext(tx.QueryRow("SELECT "+contextColumns+" FROM contexts WHERE environment = ? AND id = ?", environment, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return v, notFound("context", id)
	}
	return v, err
}

// context returns the context in the path.
func (c *call) context(tx *sql.Tx) (contextRow, error) {
	return selectContext(tx, c.who.environment, c.args[0])
}

// A contextPatch contains the fields of a context to create or change; nil does not change.
type contextPatch struct {
	Name         *string   `json:"name"`
	Description  *string   `json:"description"`
	Instructions *string   `json:"instructions"`
	AutoApply    *[]string `json:"autoApply"`
}

// applyTo changes a context, and refuses invalid values.
func (p contextPatch) applyTo(v *contextRow) error {
	for _, f := range []struct {
		to   *string
		from *string
	}{{&v.Name, p.Name}, {&v.Description, p.Description}, {&v.Instructions, p.Instructions}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if p.AutoApply != nil {
		v.AutoApply = *p.AutoApply
	}
	if v.AutoApply == nil {
		v.AutoApply = []string{}
	}
	var wrong issues
	wrong.need("name", v.Name)
	wrong.longer("name", v.Name, maxTitle)
	wrong.longer("description", v.Description, maxPrompt)
	wrong.longer("instructions", v.Instructions, maxPrompt)
	for i, feature := range v.AutoApply {
		if !slices.Contains(features(), feature) {
			wrong.add(fmt.Sprintf("autoApply.%d", i), "must be one of %s", strings.Join(features(), ", "))
		}
	}
	return wrong.err()
}

func (s *Server) createContext(c *call) error {
	var in contextPatch
	if err := c.json(&in); err != nil {
		return err
	}
	v := contextRow{ID: newID()}
	if err := in.applyTo(&v); err != nil {
		return err
	}
	features, err := json.Marshal(v.AutoApply)
	if err != nil {
		return err
	}
	err = s.store.do(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO contexts (environment, id, name, description, instructions, auto_apply, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.who.environment, v.ID, v.Name, v.Description, v.Instructions, string(features), s.now().UnixMilli())
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": v.ID})
}

func (s *Server) listContexts(c *call) error {
	l := listing{columns: contextColumns, key: "seq", seq: "seq", from: "FROM contexts WHERE environment = ?", args: []any{c.who.environment}}
	return list(c, l, readContext)
}

func (s *Server) getContext(c *call) error {
	var v contextRow
	err := s.store.do(func(tx *sql.Tx) (err error) {
		v, err = c.context(tx)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, v)
}

func (s *Server) patchContext(c *call) error {
	var in contextPatch
	if err := c.json(&in); err != nil {
		return err
	}
	var v contextRow
	err := s.store.do(func(tx *sql.Tx) (err error) {
		if v, err = c.context(tx); err != nil {
			return err
		}
		if err := in.applyTo(&v); err != nil {
			return err
		}
		features, err := json.Marshal(v.AutoApply)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE contexts SET name = ?, description = ?, instructions = ?, auto_apply = ? WHERE seq = ?",
			v.Name, v.Description, v.Instructions, string(features), v.seq)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, v)
}

func (s *Server) deleteContext(c *call) error {
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err == nil {
			_, err = tx.Exec("DELETE FROM contexts WHERE seq = ?", v.seq)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Done()
}
