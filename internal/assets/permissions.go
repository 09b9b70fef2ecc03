package assets

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// A Permission is a right within a category.
type Permission string

// The permissions that are known.
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

// Permissions are what somebody may do, by the ID of the category.
type Permissions map[string]map[Permission]bool

func (*Permissions) check() error { return nil }

// May reports whether something is allowed in a category.
func (p Permissions) May(what Permission, categoryID string) bool { return p[categoryID][what] }

// Permissions returns what the holder of the token may do.
func (c *Client) Permissions(ctx context.Context) (Permissions, error) {
	var p Permissions
	err := c.do(ctx, &request{
		op: "read permissions", method: http.MethodGet, route: "/permissions",
		query: c.inWorkspace(),
		into:  &p,
	})
	return p, err
}

// A Group gives permissions to those whose tokens name it. Tokens that name none
// belong to the default group.
type Group struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"isDefault"`
}

// Groups returns the groups of the workspace. It takes an admin. The route is not
// known to page.
func (c *Client) Groups(ctx context.Context) ([]Group, error) {
	return whole(ctx, c, request{op: "list groups", route: "/admin/groups", query: c.inWorkspace()}, func(g Group) string { return g.ID })
}

// CreateGroup makes a group and returns its ID. It takes an admin.
func (c *Client) CreateGroup(ctx context.Context, name string) (string, error) {
	return c.create(ctx, "create group", name, "/admin/groups", c.inWorkspace(), map[string]string{"name": name})
}

// RenameGroup gives a group another name. It takes an admin.
func (c *Client) RenameGroup(ctx context.Context, id, name string) error {
	return c.do(ctx, &request{
		op: "rename group", subject: id,
		method: http.MethodPut, route: "/admin/groups/{id}", path: "/admin/groups/" + url.PathEscape(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"name": name}),
		into:  nothing{},
	})
}

// DeleteGroup deletes a group with its permissions. It takes an admin. The default
// group cannot be deleted.
func (c *Client) DeleteGroup(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete group", subject: id,
		method: http.MethodDelete, route: "/admin/groups/{id}", path: "/admin/groups/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// A Grant is what a group may do in some categories, or in all if it names none.
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

// Grants returns the grants of a group. It takes an admin. The route is not known
// to page.
func (c *Client) Grants(ctx context.Context, groupID string) ([]Grant, error) {
	return whole(ctx, c, request{
		op: "list permissions of group", subject: groupID,
		route: "/admin/permissions", query: c.inWorkspace("groupId", groupID),
	}, func(g Grant) string { return g.ID })
}

// CreateGrant gives a group what it may do, on top of what it has, and returns the
// ID of that. It takes an admin.
func (c *Client) CreateGrant(ctx context.Context, g Grant) (string, error) {
	if g.GroupID == "" {
		return "", errors.New("grant permissions: needs a group")
	}
	return c.create(ctx, "grant permissions to group", g.GroupID, "/admin/permissions", c.inWorkspace(), g.body())
}

// ChangeGrant sets categories and permissions of the grant with this ID. It takes
// an admin.
func (c *Client) ChangeGrant(ctx context.Context, g Grant) error {
	return c.do(ctx, &request{
		op: "change permissions", subject: g.ID,
		method: http.MethodPut, route: "/admin/permissions/{id}", path: "/admin/permissions/" + url.PathEscape(g.ID),
		query: c.inWorkspace(),
		body:  jsonPayload(g.body()),
		into:  nothing{},
	})
}

// DeleteGrant takes a grant back. It takes an admin.
func (c *Client) DeleteGrant(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete permissions", subject: id,
		method: http.MethodDelete, route: "/admin/permissions/{id}", path: "/admin/permissions/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}
