package sandbox

import (
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// rights returns the rights of the token in a workspace.
func (c *call) rights(workspace string) (records.Rights, error) {
	if c.who.Role >= tokens.Admin {
		return records.Rights{All: true}, nil
	}
	if r, ok := c.known[workspace]; ok {
		return r, nil
	}
	var r records.Rights
	err := c.server.store.Read(func(ses *store.Session) (err error) {
		r.Grants, err = records.SelectGrantsFor(ses, workspace, c.who.Groups)
		return err
	})
	if err != nil {
		return records.Rights{}, fmt.Errorf("find permissions in %s: %w", workspace, err)
	}
	if c.known == nil {
		c.known = make(map[string]records.Rights)
	}
	c.known[workspace] = r
	return r, nil
}

// here returns the workspace of the call with the rights of its token.
func (c *call) here() (workspace string, r records.Rights, err error) {
	if workspace, err = c.workspace(); err == nil {
		r, err = c.rights(workspace)
	}
	return workspace, r, err
}

// allow enforces permissions: everything that finds a category, folder or asset for a call uses
// it. The call requires access to the category and the permission of its route.
func (c *call) allow(workspace, category string) error {
	r, err := c.rights(workspace)
	if err != nil {
		return err
	}
	for _, p := range []records.Permission{records.MayAccess, c.route.needs} {
		if !r.May(p, category) {
			return problem.Refuse(http.StatusForbidden, "The token lacks the permission %q in category %q.", p, category)
		}
	}
	return nil
}

// getPermissions returns the permissions of the user by category. Categories without access are
// omitted.
func (s *Server) getPermissions(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var ids []string
	err = s.store.Read(func(ses *store.Session) (err error) {
		ids, err = records.CategoryIDs(ses, r, ws)
		return err
	})
	if err != nil {
		return fmt.Errorf("list permissions in %s: %w", ws, err)
	}
	granted := make(map[string]map[records.Permission]bool)
	for _, id := range ids {
		granted[id] = make(map[records.Permission]bool)
		for _, p := range records.Permissions() {
			granted[id][p] = r.May(p, id)
		}
	}
	return c.Reply(http.StatusOK, granted)
}
