package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// listGrants lists the permissions of one group, or of the workspace: a guess.
func (s *Server) listGrants(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	of := query(c.R.URL.Query(), "groupId")
	if of != nil {
		if _, err := s.group(c, *of); err != nil {
			return err
		}
	}
	out := list[records.GrantView]{Items: []records.GrantView{}}
	err = s.store.Read(func(ses *store.Session) error {
		all, err := records.SelectGrants(ses, ws)
		for _, g := range all {
			if of == nil || g.Group == *of {
				out.Items = append(out.Items, g.View())
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list permissions of %s: %w", ws, err)
	}
	out.TotalCount, out.Limit = len(out.Items), len(out.Items)
	return c.Reply(http.StatusOK, out)
}

// grantBody decodes the permissions. Unknown keys are refused: a guess.
func (s *Server) grantBody(c *call) (records.Grant, error) {
	var in struct {
		GroupID         string
		CategoriesIDs   []string
		PermissionsList map[records.Permission]bool
	}
	if err := c.json(&in); err != nil {
		return records.Grant{}, err
	}
	g := records.Everything(in.GroupID)
	g.Categories = append(g.Categories, in.CategoriesIDs...)
	for p := range in.PermissionsList {
		if _, known := g.Granted[p]; !known {
			return g, problem.Refuse(http.StatusBadRequest, "There is no permission %q.", p)
		}
	}
	for p := range g.Granted {
		g.Granted[p] = in.PermissionsList[p]
	}
	for _, id := range g.Categories {
		if _, err := s.categoryPlace(c, id); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (s *Server) createGrant(c *call) error {
	g, err := s.grantBody(c)
	if err != nil {
		return err
	}
	if _, err := s.group(c, g.Group); err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error { return records.InsertGrant(ses, g) })
	if store.IsForeignKey(err) {
		return problem.Refuse(http.StatusNotFound, "The group %q was deleted.", g.Group)
	}
	if err != nil {
		return fmt.Errorf("grant permissions to %s: %w", g.Group, err)
	}
	return c.Reply(http.StatusCreated, g.View())
}

// grant returns a permission of the workspace of the call.
func (s *Server) grant(c *call, id string) (records.Grant, error) {
	ws, err := c.workspace()
	if err != nil {
		return records.Grant{}, err
	}
	var all []records.Grant
	err = s.store.Read(func(ses *store.Session) (err error) {
		all, err = records.SelectGrants(ses, ws)
		return err
	})
	if err != nil {
		return records.Grant{}, fmt.Errorf("find permission %s: %w", id, err)
	}
	i := slices.IndexFunc(all, func(g records.Grant) bool { return g.ID == id })
	if i < 0 {
		return records.Grant{}, problem.Refuse(http.StatusNotFound, "There is no permission %q in workspace %q.", id, ws)
	}
	return all[i], nil
}

// updateGrant replaces categories and rights. The group cannot change: a guess.
func (s *Server) updateGrant(c *call) error {
	old, err := s.grant(c, c.args[0])
	if err != nil {
		return err
	}
	g, err := s.grantBody(c)
	if err != nil {
		return err
	}
	if g.Group != "" && g.Group != old.Group {
		return problem.Refuse(http.StatusBadRequest, "The group of a permission cannot change.")
	}
	g.ID, g.Group = old.ID, old.Group
	err = s.store.Write(func(ses *store.Session) error { return records.UpdateGrant(ses, g) })
	if errors.Is(err, store.ErrNotThere) {
		return noGrant(g.ID)
	}
	if err != nil {
		return fmt.Errorf("change permission %s: %w", g.ID, err)
	}
	return c.Reply(http.StatusOK, g.View())
}

func noGrant(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no permission %q.", id)
}

func (s *Server) deleteGrant(c *call) error {
	g, err := s.grant(c, c.args[0])
	if err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		return ses.Change("DELETE FROM permissions WHERE id = ?", g.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted by another request
		return noGrant(g.ID)
	}
	if err != nil {
		return fmt.Errorf("delete permission %s: %w", g.ID, err)
	}
	return c.Done()
}
