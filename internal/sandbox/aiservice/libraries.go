package aiservice

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
)

// A contextLibrary is a set of contexts. A deleted context is removed from all libraries.
type contextLibrary struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Contexts []string `json:"contextIds"`
}

const libraryColumns = `id, name, (SELECT json_group_array(value) FROM json_each(libraries.contexts)
	WHERE value IN (SELECT id FROM contexts WHERE environment = libraries.environment))`

func readLibrary(s scan) (l contextLibrary, err error) {
	var contexts string
	if err := s(&l.ID, &l.Name, &contexts); err != nil {
		return l, err
	}
	return l, json.Unmarshal([]byte(contexts), &l.Contexts)
}

// A libraryPatch contains the fields of a library to create or change; nil does not change.
type libraryPatch struct {
	Name     *string   `json:"name"`
	Contexts *[]string `json:"contextIds"`
}

func (in libraryPatch) applyTo(tx *sql.Tx, c *call, l *contextLibrary) error {
	if in.Name != nil {
		l.Name = *in.Name
	}
	if in.Contexts != nil {
		l.Contexts = *in.Contexts
	}
	if l.Contexts == nil {
		l.Contexts = []string{}
	}
	var wrong issues
	wrong.need("name", l.Name)
	wrong.longer("name", l.Name, maxTitle)
	if err := wrong.err(); err != nil {
		return err
	}
	for _, id := range l.Contexts {
		if _, err := selectContext(tx, c.who.environment, id); err != nil {
			return err
		}
	}
	return nil
}

// library returns the library in the path.
func (c *call) library(tx *sql.Tx) (contextLibrary, error) {
	l, err := readLibrary(tx.QueryRow("SELECT "+libraryColumns+" FROM libraries WHERE environment = ? AND id = ?", c.who.environment, c.args[0]).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return l, notFound("context-library", c.args[0])
	}
	return l, err
}

// keepLibrary decodes a library, and adds it or changes the existing one.
func (s *Server) keepLibrary(c *call, find func(*sql.Tx) (contextLibrary, error), query string) (l contextLibrary, err error) {
	var in libraryPatch
	if err := c.json(&in); err != nil {
		return l, err
	}
	err = s.store.do(func(tx *sql.Tx) (err error) {
		if l, err = find(tx); err != nil {
			return err
		}
		if err := in.applyTo(tx, c, &l); err != nil {
			return err
		}
		contexts, err := json.Marshal(l.Contexts)
		if err != nil {
			return err
		}
		_, err = tx.Exec(query, l.Name, string(contexts), c.who.environment, l.ID)
		return err
	})
	return l, err
}

func (s *Server) createLibrary(c *call) error {
	fresh := func(*sql.Tx) (contextLibrary, error) { return contextLibrary{ID: newID()}, nil }
	l, err := s.keepLibrary(c, fresh, "INSERT INTO libraries (name, contexts, environment, id) VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": l.ID})
}

func (s *Server) patchLibrary(c *call) error {
	l, err := s.keepLibrary(c, c.library, "UPDATE libraries SET name = ?, contexts = ? WHERE environment = ? AND id = ?")
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, l)
}

func (s *Server) listLibraries(c *call) error {
	l := listing{columns: libraryColumns, key: "seq", seq: "seq", from: "FROM libraries WHERE environment = ?", args: []any{c.who.environment}}
	return list(c, l, readLibrary)
}

func (s *Server) getLibrary(c *call) error {
	var l contextLibrary
	err := s.store.do(func(tx *sql.Tx) (err error) {
		l, err = c.library(tx)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, l)
}

func (s *Server) deleteLibrary(c *call) error {
	err := s.store.do(func(tx *sql.Tx) error {
		deleted, err := changed(tx, "DELETE FROM libraries WHERE environment = ? AND id = ?", c.who.environment, c.args[0])
		if err == nil && !deleted {
			return notFound("context-library", c.args[0])
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Done()
}
