package assets

import (
	"context"
	"errors"
	"net/http"
)

// An EnvironmentConfig can restrict all workspaces of an environment to certain extensions.
type EnvironmentConfig struct {
	AllowedExtensions []string `json:"allowedExtensions"`
	Restricted        bool     `json:"isAllowedExtensionsEnabled"`
}

func (*EnvironmentConfig) check() error { return nil }

// EnvironmentConfig returns the settings of the environment. It requires an admin.
func (c *Client) EnvironmentConfig(ctx context.Context) (EnvironmentConfig, error) {
	var e EnvironmentConfig
	err := c.do(ctx, &request{
		op: "read configuration of environment", method: http.MethodGet, route: "/admin/environmentConfig", into: &e,
	})
	return e, err
}

// SetEnvironmentConfig sets the settings of the environment. It requires a superadmin.
func (c *Client) SetEnvironmentConfig(ctx context.Context, e EnvironmentConfig) error {
	e.AllowedExtensions = append([]string{}, e.AllowedExtensions...) // never null
	return c.do(ctx, &request{
		op: "configure environment", method: http.MethodPut, route: "/superadmin/environmentConfig",
		body: jsonPayload(e),
		into: nothing{},
	})
}

// A template is the list of categories of new workspaces; its form is a guess.
type template struct {
	Categories []NewCategory `json:"categories"`
}

func (t *template) check() error {
	if t.Categories == nil {
		return errors.New("no template categories")
	}
	return nil
}

// WorkspacesTemplate returns the categories of new workspaces. It requires a superadmin.
func (c *Client) WorkspacesTemplate(ctx context.Context) ([]NewCategory, error) {
	var t template
	err := c.do(ctx, &request{
		op: "read template of workspaces", method: http.MethodGet, route: "/superadmin/workspacesTemplate", into: &t,
	})
	return t.Categories, err
}

// SetWorkspacesTemplate sets the categories of new workspaces. It requires a superadmin.
func (c *Client) SetWorkspacesTemplate(ctx context.Context, categories []NewCategory) error {
	return c.do(ctx, &request{
		op: "set template of workspaces", method: http.MethodPut, route: "/superadmin/workspacesTemplate",
		body: jsonPayload(template{append([]NewCategory{}, categories...)}),
		into: nothing{},
	})
}
