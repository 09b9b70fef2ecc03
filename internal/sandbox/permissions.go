package sandbox

import (
	"fmt"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// A permission is a right within a category. Tokens of the role user have those
// of their groups; an admin has them all.
type permission string

const (
	noPermission      permission = "" // for routes that need nothing beyond access, or know no category
	mayAccess         permission = "category:access"
	mayCreateAssets   permission = "asset:create"
	mayDeleteAssets   permission = "asset:delete"
	mayModifyAssets   permission = "asset:metadata:modify"
	mayOverwrite      permission = "asset:overwrite"
	mayChangeRevision permission = "asset:revision:change"
	mayDeleteRevision permission = "asset:revision:delete"
	mayCreateFolders  permission = "folder:create"
	mayDeleteFolders  permission = "folder:delete"
	mayRenameFolders  permission = "folder:metadata:modify"
)

func permissions() []permission {
	return []permission{
		mayAccess, mayCreateAssets, mayDeleteAssets, mayModifyAssets, mayOverwrite, mayChangeRevision,
		mayDeleteRevision, mayCreateFolders, mayDeleteFolders, mayRenameFolders,
	}
}

// rights are what a token may do in a workspace.
type rights struct {
	all    bool
	grants []grant
}

func (r rights) may(p permission, category string) bool {
	return r.all || p == noPermission || slices.ContainsFunc(r.grants, func(g grant) bool {
		return g.Granted[p] && (len(g.Categories) == 0 || slices.Contains(g.Categories, category))
	})
}

// both reports whether a category can be entered and the permission is there.
func (r rights) both(p permission, category string) bool {
	return r.may(mayAccess, category) && r.may(p, category)
}

// rights looks up what the token of the call may do in a workspace.
func (c *call) rights(workspace string) (rights, error) {
	if c.who.Role >= tokens.Admin {
		return rights{all: true}, nil
	}
	if r, ok := c.known[workspace]; ok {
		return r, nil
	}
	var r rights
	err := c.server.store.Read(func(ses *store.Session) (err error) {
		r.grants, err = selectGrantsFor(ses, workspace, c.who.Groups)
		return err
	})
	if err != nil {
		return rights{}, fmt.Errorf("find permissions in %s: %w", workspace, err)
	}
	if c.known == nil {
		c.known = make(map[string]rights)
	}
	c.known[workspace] = r
	return r, nil
}

// here is the workspace that the call is about, with what its token may do there.
func (c *call) here() (workspace string, r rights, err error) {
	if workspace, err = c.workspace(); err == nil {
		r, err = c.rights(workspace)
	}
	return workspace, r, err
}

// allow is where permissions are enforced: whatever finds a category, a folder
// or an asset for a call comes by here. The call needs access to the category,
// and the permission that its route names.
func (c *call) allow(workspace, category string) error {
	r, err := c.rights(workspace)
	if err != nil {
		return err
	}
	for _, p := range []permission{mayAccess, c.route.needs} {
		if !r.may(p, category) {
			return problem.Refuse(http.StatusForbidden, "The token lacks the permission %q in category %q.", p, category)
		}
	}
	return nil
}

// refusesAsset reports whether a call about several assets may not do this to
// one of them. Of what is not there it says no: that is for others to tell.
func (r rights) refusesAsset(ses *store.Session, p permission, id string) (bool, error) {
	if r.all {
		return false, nil
	}
	var category string
	err := store.NotThere(ses.Row("SELECT category_id FROM assets WHERE id = ?", []any{id}, &category))
	if err != nil {
		return false, store.IgnoreNotThere(err)
	}
	return !r.both(p, category), nil
}

// visible names the categories of a workspace that may be entered, as a JSON
// array for SQL.
func (r rights) visible(ses *store.Session, workspace string) (string, error) {
	ids, err := categoryIDs(ses, r, workspace)
	if err != nil {
		return "", err
	}
	return jsonArray(ids), nil
}

// getPermissions tells the calling user what is granted, category by category.
// Those without access are left out.
func (s *Server) getPermissions(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var ids []string
	err = s.store.Read(func(ses *store.Session) (err error) {
		ids, err = categoryIDs(ses, r, ws)
		return err
	})
	if err != nil {
		return fmt.Errorf("list permissions in %s: %w", ws, err)
	}
	granted := make(map[string]map[permission]bool)
	for _, id := range ids {
		granted[id] = make(map[permission]bool)
		for _, p := range permissions() {
			granted[id][p] = r.may(p, id)
		}
	}
	return c.Reply(http.StatusOK, granted)
}
