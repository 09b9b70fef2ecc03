package sandbox

import (
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// environmentConfig returns the settings of the environment of the call.
func (s *Server) environmentConfig(c *call) (e records.EnvironmentConfig, err error) {
	err = s.store.Read(func(ses *store.Session) (err error) {
		e, err = records.SelectEnvironment(ses, c.who.Environment)
		return err
	})
	if err != nil {
		return e, fmt.Errorf("find configuration of environment %s: %w", c.who.Environment, err)
	}
	return e, nil
}

// checkAdmitted checks the extensions of uploads, names and categories against the environment.
// Existing assets do not change: a guess.
func (s *Server) checkAdmitted(c *call, extensions ...string) error {
	e, err := s.environmentConfig(c)
	if err != nil {
		return err
	}
	for _, extension := range extensions {
		if !e.Allows(extension) {
			return problem.Refuse(http.StatusBadRequest, "The extension %q is not allowed in the environment.", extension)
		}
	}
	return nil
}

func (s *Server) getEnvironmentConfig(c *call) error {
	e, err := s.environmentConfig(c)
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, e)
}

// setEnvironmentConfig sets both values. An empty list is refused: a guess.
func (s *Server) setEnvironmentConfig(c *call) error {
	e := records.EnvironmentConfig{AllowedExtensions: []string{}}
	if err := c.json(&e); err != nil {
		return err
	}
	if err := checkExtensions(e.AllowedExtensions); err != nil {
		return err
	}
	if e.IsAllowedExtensionsEnabled && len(e.AllowedExtensions) == 0 {
		return problem.Refuse(http.StatusBadRequest, "allowedExtensions is empty: no file could be uploaded.")
	}
	err := s.store.Write(func(ses *store.Session) error { return records.UpdateEnvironment(ses, c.who.Environment, e) })
	if err != nil {
		return fmt.Errorf("configure environment %s: %w", c.who.Environment, err)
	}
	return c.Reply(http.StatusOK, e)
}

// A templateView lists the categories of new workspaces; its form is a guess.
type templateView struct {
	Categories []records.TemplateCategory `json:"categories"`
}

func (s *Server) getTemplate(c *call) error {
	out := templateView{Categories: []records.TemplateCategory{}}
	err := s.store.Read(func(ses *store.Session) error {
		all, err := records.SelectTemplate(ses, c.who.Environment)
		for _, cat := range all {
			out.Categories = append(out.Categories, records.TemplateCategory{Name: cat.Name, Extensions: cat.Extensions, IsPrivate: cat.Private})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("find template of environment %s: %w", c.who.Environment, err)
	}
	return c.Reply(http.StatusOK, out)
}

func (s *Server) setTemplate(c *call) error {
	in := templateView{Categories: []records.TemplateCategory{}}
	if err := c.json(&in); err != nil {
		return err
	}
	for _, t := range in.Categories {
		body := categoryBody{Name: t.Name, Extensions: t.Extensions}
		if err := s.checkCategory(c, body); err != nil {
			return err
		}
	}
	err := s.store.Write(func(ses *store.Session) error { return records.UpdateTemplate(ses, c.who.Environment, in.Categories) })
	if err != nil {
		return fmt.Errorf("set template of environment %s: %w", c.who.Environment, err)
	}
	return c.Reply(http.StatusOK, in)
}
