package sandbox

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/store"
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
	return workspaceView{ID: w.ID, Name: w.Name, CreatedAt: store.Timestamp(w.Created), EnableAIProcessing: w.AIProcessing}
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
	q := c.R.URL.Query()
	var found []workspaceView
	for _, w := range s.workspaces.of(c.who.Environment) {
		named := !q.Has("ids") || slices.Contains(strings.Split(q.Get("ids"), ","), w.ID)
		if named && c.sees(w.ID) && strings.Contains(foldText(w.Name), foldText(q.Get("searchPhrase"))) {
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
	return c.Reply(http.StatusOK, list[workspaceView]{items, len(found), offset, limit})
}

// workspaceName reads the body of a request that names a workspace.
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
	w := workspace{ID: naming.NewWorkspaceID(), Environment: c.who.Environment, Name: name, Created: s.now()}
	if err := s.addWorkspace(w); err != nil {
		return err
	}
	return c.Reply(http.StatusCreated, w.view())
}

// ownWorkspace is the one that the path names, if it is in the environment.
func (c *call) ownWorkspace() (workspace, error) {
	w, ok := c.server.workspaces.get(c.args[0])
	if !ok || w.Environment != c.who.Environment {
		return workspace{}, noWorkspace(c.args[0])
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
	return s.changeWorkspace(c, func(w *workspace) { w.Name = name })
}

// configureWorkspace changes what is given, and is open to an admin of the
// workspace. The body is a guess.
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
	return s.changeWorkspace(c, func(w *workspace) {
		if in.Name != nil {
			w.Name = *in.Name
		}
		if in.EnableAIProcessing != nil {
			w.AIProcessing = *in.EnableAIProcessing
		}
	})
}

// changeWorkspace changes a workspace as it is now, and shows it.
func (s *Server) changeWorkspace(c *call, change func(*workspace)) error {
	s.workspaces.changing.Lock()
	defer s.workspaces.changing.Unlock()
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
	s.workspaces.set(w)
	return c.Reply(http.StatusOK, w.view())
}

// getWorkspaceMetadata tells which extensions the workspace allows and has: those
// of the environment if it restricts them, else those of all categories. That
// choice is a guess.
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
		visible, err := r.visible(ses, ws)
		if err != nil {
			return err
		}
		if !e.IsAllowedExtensionsEnabled {
			if out.AllowedExtensions, err = extensionsIn(ses, "extensions", visible); err != nil {
				return err
			}
		}
		out.ExtensionsInUse, err = extensionsIn(ses, "assets", visible)
		return err
	})
	if err != nil {
		return fmt.Errorf("find extensions of %s: %w", ws, err)
	}
	return c.Reply(http.StatusOK, out)
}

// deleteWorkspace deletes a workspace with everything in it. The default one
// cannot be deleted: a guess.
func (s *Server) deleteWorkspace(c *call) error {
	s.workspaces.changing.Lock()
	defer s.workspaces.changing.Unlock()
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
	s.workspaces.remove(w.ID)
	return c.Done()
}
