package aiservice

import (
	"database/sql"
	"errors"
	"net/http"
)

// A prompt is a stored prompt of a context.
type prompt struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prompt string `json:"prompt"`
}

const promptColumns = "id, name, prompt"

func readPrompt(s scan) (p prompt, err error) { return p, s(&p.ID, &p.Name, &p.Prompt) }

// A promptPatch contains the fields of a prompt to create or change; nil does not change.
type promptPatch struct {
	Name   *string `json:"name"`
	Prompt *string `json:"prompt"`
}

func (in promptPatch) applyTo(p *prompt) error {
	if in.Name != nil {
		p.Name = *in.Name
	}
	if in.Prompt != nil {
		p.Prompt = *in.Prompt
	}
	var wrong issues
	wrong.need("name", p.Name)
	wrong.longer("name", p.Name, maxTitle)
	wrong.need("prompt", p.Prompt)
	wrong.longer("prompt", p.Prompt, maxPrompt)
	return wrong.err()
}

func (s *Server) createPrompt(c *call) error {
	var in promptPatch
	if err := c.json(&in); err != nil {
		return err
	}
	p := prompt{ID: newID()}
	if err := in.applyTo(&p); err != nil {
		return err
	}
	err := s.store.do(func(tx *sql.Tx) error {
		v, err := c.context(tx)
		if err == nil {
			_, err = tx.Exec("INSERT INTO prompts (context, id, name, prompt) VALUES (?, ?, ?, ?)", v.seq, p.ID, p.Name, p.Prompt)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, map[string]string{"id": p.ID})
}

func (s *Server) listPrompts(c *call) error { return listOf(c, "prompts", promptColumns, readPrompt) }

// prompt returns the prompt in the path.
func (c *call) prompt(tx *sql.Tx) (p prompt, context int64, err error) {
	v, err := c.context(tx)
	if err != nil {
		return p, 0, err
	}
	p, err = readPrompt(tx.QueryRow("SELECT "+promptColumns+" FROM prompts WHERE context = ? AND id = ?", v.seq, c.args[1]).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return p, 0, notFound("prompt", c.args[1])
	}
	return p, v.seq, err
}

func (s *Server) getPrompt(c *call) error {
	var p prompt
	err := s.store.do(func(tx *sql.Tx) (err error) {
		p, _, err = c.prompt(tx)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}

func (s *Server) patchPrompt(c *call) error {
	var in promptPatch
	if err := c.json(&in); err != nil {
		return err
	}
	var p prompt
	err := s.store.do(func(tx *sql.Tx) (err error) {
		var context int64
		if p, context, err = c.prompt(tx); err != nil {
			return err
		}
		if err := in.applyTo(&p); err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE prompts SET name = ?, prompt = ? WHERE context = ? AND id = ?", p.Name, p.Prompt, context, p.ID)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}

func (s *Server) deletePrompt(c *call) error { return deleteOf(c, "prompts", "prompt") }
