package sandbox

import (
	"errors"
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// listGroups returns all groups, because clients do not page this list.
func (s *Server) listGroups(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	out := list[records.GroupView]{Items: []records.GroupView{}}
	err = s.store.Read(func(ses *store.Session) error {
		all, err := records.SelectGroups(ses, ws)
		for _, g := range all {
			out.Items = append(out.Items, g.View())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list groups of %s: %w", ws, err)
	}
	out.TotalCount, out.Limit = len(out.Items), len(out.Items)
	return c.Reply(http.StatusOK, out)
}

// groupName decodes the name of a group.
func (c *call) groupName() (string, error) {
	var in struct{ Name string }
	if err := c.json(&in); err != nil {
		return "", err
	}
	return in.Name, naming.CheckName("group name", in.Name)
}

// createGroup creates a group without permissions.
func (s *Server) createGroup(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	g := records.Group{ID: standin.NewUUID(), Workspace: ws}
	if g.Name, err = c.groupName(); err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error { return records.InsertGroup(ses, g) })
	if store.IsForeignKey(err) { // deleted meanwhile
		return noAccess(ws)
	}
	if err != nil {
		return fmt.Errorf("create group in %s: %w", ws, err)
	}
	return c.Reply(http.StatusCreated, g.View())
}

// group returns a group of the workspace of the call.
func (s *Server) group(c *call, id string) (records.Group, error) {
	ws, err := c.workspace()
	if err != nil {
		return records.Group{}, err
	}
	var g records.Group
	err = s.store.Read(func(ses *store.Session) (err error) {
		g, err = records.SelectGroup(ses, id)
		return err
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && g.Workspace != ws {
		return records.Group{}, noGroup(id, ws)
	}
	if err != nil {
		return records.Group{}, fmt.Errorf("find group %s: %w", id, err)
	}
	return g, nil
}

func noGroup(id, workspace string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no group %q in workspace %q.", id, workspace)
}

func (s *Server) renameGroup(c *call) error {
	g, err := s.group(c, c.args[0])
	if err != nil {
		return err
	}
	if g.Name, err = c.groupName(); err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		return ses.Change("UPDATE groups SET name = ? WHERE id = ?", g.Name, g.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted meanwhile
		return noGroup(g.ID, g.Workspace)
	}
	if err != nil {
		return fmt.Errorf("rename group %s: %w", g.ID, err)
	}
	return c.Reply(http.StatusOK, g.View())
}

func (s *Server) deleteGroup(c *call) error {
	g, err := s.group(c, c.args[0])
	if err != nil {
		return err
	}
	if g.Default {
		return problem.Refuse(http.StatusBadRequest, "The default group cannot be deleted.")
	}
	err = s.store.Write(func(ses *store.Session) error {
		return ses.Change("DELETE FROM groups WHERE id = ?", g.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted by another request
		return noGroup(g.ID, g.Workspace)
	}
	if err != nil {
		return fmt.Errorf("delete group %s: %w", g.ID, err)
	}
	return c.Done()
}
