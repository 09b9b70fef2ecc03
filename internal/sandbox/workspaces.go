package sandbox

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sorting"
)

// A list is the envelope of all lists.
type list[T any] struct {
	Items      []T `json:"items"`
	TotalCount int `json:"totalCount"`
	Offset     int `json:"offset"`
	Limit      int `json:"limit"`
}

// listWorkspaces gives the same response for all three versions of the route. It is a guess that
// any role may call it and sees the workspaces of its token.
func (s *Server) listWorkspaces(c *call) error {
	limit, offset, err := c.page()
	if err != nil {
		return err
	}
	order, err := c.order(records.SortField{Name: "createdAt", Column: "created"}, records.SortField{Name: "name", Column: "name"})
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	var found []records.WorkspaceView
	for _, w := range s.workspaces.Of(c.who.Environment) {
		named := !q.Has("ids") || slices.Contains(strings.Split(q.Get("ids"), ","), w.ID)
		if named && c.sees(w.ID) && strings.Contains(records.FoldText(w.Name), records.FoldText(q.Get("searchPhrase"))) {
			found = append(found, w.View())
		}
	}
	if strings.HasPrefix(order, "name") {
		sorting.Stable(found, func(a, b records.WorkspaceView) int { return cmp.Compare(a.Name, b.Name) })
	}
	if strings.Contains(order, "DESC") {
		slices.Reverse(found)
	}
	from := min(offset, len(found))
	items := append([]records.WorkspaceView{}, found[from:min(from+limit, len(found))]...)
	return c.Reply(http.StatusOK, list[records.WorkspaceView]{items, len(found), offset, limit})
}

// workspaceName decodes the body of a request with the name of a workspace.
func (c *call) workspaceName() (string, error) {
	var in struct{ Name string }
	if err := c.json(&in); err != nil {
		return "", err
	}
	return in.Name, naming.CheckName("workspace name", in.Name)
}

func (s *Server) createWorkspace(c *call) error {
	name, err := c.workspaceName()
	if err != nil {
		return err
	}
	w := records.Workspace{ID: naming.NewWorkspaceID(), Environment: c.who.Environment, Name: name, Created: s.now()}
	if err := s.addWorkspace(w); err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, w.View())
}

// ownWorkspace returns the workspace in the path, if it is in the environment.
func (c *call) ownWorkspace() (records.Workspace, error) {
	w, ok := c.server.workspaces.Get(c.args[0])
	if !ok || w.Environment != c.who.Environment {
		return records.Workspace{}, noWorkspace(c.args[0])
	}
	return w, nil
}

func noWorkspace(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no workspace %q.", id)
}

func (s *Server) renameWorkspace(c *call) error {
	if _, err := c.ownWorkspace(); err != nil {
		return err
	}
	name, err := c.workspaceName()
	if err != nil {
		return err
	}
	return s.changeWorkspace(c, func(w *records.Workspace) { w.Name = name })
}

// configureWorkspace changes the given fields, for an admin of the workspace. The body is a guess.
func (s *Server) configureWorkspace(c *call) error {
	w, err := c.ownWorkspace()
	if err != nil {
		return err
	}
	if !c.sees(w.ID) {
		return noAccess(w.ID)
	}
	var in struct {
		Name               *string
		EnableAIProcessing *bool
	}
	if err := c.json(&in); err != nil {
		return err
	}
	if in.Name != nil {
		if err := naming.CheckName("workspace name", *in.Name); err != nil {
			return err
		}
	}
	return s.changeWorkspace(c, func(w *records.Workspace) {
		if in.Name != nil {
			w.Name = *in.Name
		}
		if in.EnableAIProcessing != nil {
			w.AIProcessing = *in.EnableAIProcessing
		}
	})
}

// changeWorkspace changes the current state of a workspace, and responds with it.
func (s *Server) changeWorkspace(c *call, change func(*records.Workspace)) error {
	s.workspaces.Changing.Lock()
	defer s.workspaces.Changing.Unlock()
	w, err := c.ownWorkspace()
	if err != nil {
		return err
	}
	change(&w)
	err = s.store.Write(func(ses *store.Session) error {
		_, err := ses.Exec("UPDATE workspaces SET name = ?, ai_processing = ? WHERE id = ?", w.Name, w.AIProcessing, w.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("change workspace %s: %w", w.ID, err)
	}
	s.workspaces.Set(w)
	return c.Reply(http.StatusOK, w.View())
}

// getWorkspaceMetadata returns the allowed extensions of the workspace and those of its files: the
// allowed ones are those of the environment if it restricts them, and otherwise those of all
// categories. This is a guess.
func (s *Server) getWorkspaceMetadata(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	e, err := s.environmentConfig(c)
	if err != nil {
		return err
	}
	out := struct {
		AllowedExtensions []string `json:"allowedExtensions"`
		ExtensionsInUse   []string `json:"extensionsInUse"`
	}{e.AllowedExtensions, nil}
	err = s.store.Read(func(ses *store.Session) error {
		visible, err := r.Visible(ses, ws)
		if err != nil {
			return err
		}
		if !e.IsAllowedExtensionsEnabled {
			if out.AllowedExtensions, err = records.ExtensionsIn(ses, "extensions", visible); err != nil {
				return err
			}
		}
		out.ExtensionsInUse, err = records.ExtensionsIn(ses, "assets", visible)
		return err
	})
	if err != nil {
		return fmt.Errorf("find extensions of %s: %w", ws, err)
	}
	return c.Reply(http.StatusOK, out)
}

// deleteWorkspace deletes a workspace with all its contents. The default one cannot be deleted: a
// guess.
func (s *Server) deleteWorkspace(c *call) error {
	s.workspaces.Changing.Lock()
	defer s.workspaces.Changing.Unlock()
	w, err := c.ownWorkspace()
	if err != nil {
		return err
	}
	if w.ID == w.Environment {
		return problem.Refuse(http.StatusBadRequest, "The default workspace cannot be deleted.")
	}
	err = s.store.Write(func(ses *store.Session) error {
		_, err := ses.Exec("DELETE FROM workspaces WHERE id = ?", w.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w", w.ID, err)
	}
	s.workspaces.Remove(w.ID)
	return c.Done()
}
