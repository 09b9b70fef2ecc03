package assets

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// A Permission is a right in a category.
type Permission string

// The known permissions.
const (
	AccessCategory   Permission = "category:access"
	CreateAssets     Permission = "asset:create"
	DeleteAssets     Permission = "asset:delete"
	ModifyMetadata   Permission = "asset:metadata:modify"
	OverwriteAssets  Permission = "asset:overwrite"
	ChangeRevisions  Permission = "asset:revision:change"
	DeleteRevisions  Permission = "asset:revision:delete"
	CreateFolders    Permission = "folder:create"
	DeleteFolders    Permission = "folder:delete"
	ModifyFolderData Permission = "folder:metadata:modify"
)

// Permissions are the rights of a user, by category ID.
type Permissions map[string]map[Permission]bool

func (*Permissions) check() error { return nil }

// May reports whether an action is permitted in a category.
func (p Permissions) May(what Permission, categoryID string) bool { return p[categoryID][what] }

// Permissions returns the rights of the token.
func (c *Client) Permissions(ctx context.Context) (Permissions, error) {
	var p Permissions
	err := c.do(ctx, &request{
		op: "read permissions", method: http.MethodGet, route: "/permissions",
		query: c.inWorkspace(),
		into:  &p,
	})
	return p, err
}

// A Group grants permissions to users whose tokens name it. Tokens without a group belong to the
// default group.
type Group struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"isDefault"`
}

// Groups returns the groups of the workspace. It requires an admin. The route is not known to be
// paged.
func (c *Client) Groups(ctx context.Context) ([]Group, error) {
	return whole(ctx, c, request{op: "list groups", route: "/admin/groups", query: c.inWorkspace()}, func(g Group) string { return g.ID })
}

// CreateGroup creates a group and returns its ID. It requires an admin.
func (c *Client) CreateGroup(ctx context.Context, name string) (string, error) {
	return c.create(ctx, "create group", name, "/admin/groups", c.inWorkspace(), map[string]string{"name": name})
}

// RenameGroup renames a group. It requires an admin.
func (c *Client) RenameGroup(ctx context.Context, id, name string) error {
	return c.do(ctx, &request{
		op: "rename group", subject: id,
		method: http.MethodPut, route: "/admin/groups/{id}", path: "/admin/groups/" + url.PathEscape(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"name": name}),
		into:  nothing{},
	})
}

// DeleteGroup deletes a group with its permissions. It requires an admin. The default group cannot
// be deleted.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete group", subject: id,
		method: http.MethodDelete, route: "/admin/groups/{id}", path: "/admin/groups/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// A Grant is a set of permissions of a group in some categories, or in all if it names none.
type Grant struct {
	ID         string              `json:"id"`
	GroupID    string              `json:"groupId"`
	Categories []string            `json:"categoriesIds"`
	Allowed    map[Permission]bool `json:"permissionsList"`
}

func (g *Grant) body() map[string]any {
	allowed := map[Permission]bool{}
	for p, ok := range g.Allowed {
		allowed[p] = ok
	}
	return map[string]any{
		"groupId": g.GroupID, "categoriesIds": append([]string{}, g.Categories...), "permissionsList": allowed,
	}
}

// Grants returns the grants of a group. It requires an admin. The route is not known to be paged.
func (c *Client) Grants(ctx context.Context, groupID string) ([]Grant, error) {
	return whole(ctx, c, request{
		op: "list permissions of group", subject: groupID,
		route: "/admin/permissions", query: c.inWorkspace("groupId", groupID),
	}, func(g Grant) string { return g.ID })
}

// CreateGrant adds permissions to a group and returns the ID of the grant. It requires an admin.
func (c *Client) CreateGrant(ctx context.Context, g Grant) (string, error) {
	if g.GroupID == "" {
		return "", errors.New("grant permissions: needs a group")
	}
	return c.create(ctx, "grant permissions to group", g.GroupID, "/admin/permissions", c.inWorkspace(), g.body())
}

// ChangeGrant sets the categories and permissions of the grant with this ID. It requires an admin.
func (c *Client) ChangeGrant(ctx context.Context, g Grant) error {
	return c.do(ctx, &request{
		op: "change permissions", subject: g.ID,
		method: http.MethodPut, route: "/admin/permissions/{id}", path: "/admin/permissions/" + url.PathEscape(g.ID),
		query: c.inWorkspace(),
		body:  jsonPayload(g.body()),
		into:  nothing{},
	})
}

// DeleteGrant revokes a grant. It requires an admin.
func (c *Client) DeleteGrant(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete permissions", subject: id,
		method: http.MethodDelete, route: "/admin/permissions/{id}", path: "/admin/permissions/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}
