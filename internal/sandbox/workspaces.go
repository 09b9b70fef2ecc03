package sandbox

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A list is the envelope of every listing.
type list[T any] struct {
	Items      []T `json:"items"`
	TotalCount int `json:"totalCount"`
	Offset     int `json:"offset"`
	Limit      int `json:"limit"`
}

type workspaceView struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	CreatedAt          string `json:"createdAt"`
	EnableAIProcessing bool   `json:"enableAIProcessing"`
}

func (w workspace) view() workspaceView {
	return workspaceView{ID: w.ID, Name: w.Name, CreatedAt: timestamp(w.Created)}
}

// listWorkspaces answers all three generations of the route alike; that any role
// may ask, and sees what its token names, is a guess.
func (s *Server) listWorkspaces(c *call) error {
	limit, offset, err := c.page()
	if err != nil {
		return err
	}
	order, err := c.order(sortField{"createdAt", "created"}, sortField{"name", "name"})
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	var found []workspaceView
	for _, w := range s.workspaces.of(c.who.environment) {
		named := !q.Has("ids") || slices.Contains(strings.Split(q.Get("ids"), ","), w.ID)
		if named && c.sees(w.ID) && strings.Contains(strings.ToLower(w.Name), strings.ToLower(q.Get("searchPhrase"))) {
			found = append(found, w.view())
		}
	}
	if strings.HasPrefix(order, "name") {
		slices.SortStableFunc(found, func(a, b workspaceView) int { return cmp.Compare(a.Name, b.Name) })
	}
	if strings.Contains(order, "DESC") {
		slices.Reverse(found)
	}
	from := min(offset, len(found))
	items := append([]workspaceView{}, found[from:min(from+limit, len(found))]...)
	return c.reply(http.StatusOK, list[workspaceView]{items, len(found), offset, limit})
}

// workspaceName reads the body of a request that names a workspace.
func (c *call) workspaceName() (string, error) {
	var in struct{ Name string }
	if err := c.json(&in); err != nil {
		return "", err
	}
	return in.Name, checkName("workspace name", in.Name)
}

func (s *Server) createWorkspace(c *call) error {
	name, err := c.workspaceName()
	if err != nil {
		return err
	}
	w := workspace{ID: newWorkspaceID(), Environment: c.who.environment, Name: name, Created: s.now()}
	if err := s.addWorkspace(w); err != nil {
		return err
	}
	return c.reply(http.StatusCreated, w.view())
}

// ownWorkspace is the one that the path names, if it is in the environment.
func (c *call) ownWorkspace() (workspace, error) {
	w, ok := c.server.workspaces.get(c.args[0])
	if !ok || w.Environment != c.who.environment {
		return workspace{}, refuse(http.StatusNotFound, "There is no workspace %q.", c.args[0])
	}
	return w, nil
}

func (s *Server) renameWorkspace(c *call) error {
	w, err := c.ownWorkspace()
	if err != nil {
		return err
	}
	if w.Name, err = c.workspaceName(); err != nil {
		return err
	}
	err = s.store.write(func(ses *session) error {
		_, err := ses.exec("UPDATE workspaces SET name = ? WHERE id = ?", w.Name, w.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("rename workspace %s: %w", w.ID, err)
	}
	s.workspaces.set(w)
	return c.reply(http.StatusOK, w.view())
}

// deleteWorkspace deletes a workspace with everything in it. The default one
// cannot be deleted: a guess.
func (s *Server) deleteWorkspace(c *call) error {
	w, err := c.ownWorkspace()
	if err != nil {
		return err
	}
	if w.ID == w.Environment {
		return refuse(http.StatusBadRequest, "The default workspace cannot be deleted.")
	}
	err = s.store.write(func(ses *session) error {
		_, err := ses.exec("DELETE FROM workspaces WHERE id = ?", w.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w", w.ID, err)
	}
	s.workspaces.remove(w.ID)
	return c.done()
}
