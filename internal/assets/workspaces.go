package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const workspacesPage = 50

// A Workspace is a part of an environment with its own assets.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
	// AIProcessing reports whether assets can be analysed.
	AIProcessing bool
}

func (w *Workspace) check() error {
	if w.ID == "" {
		return errors.New("no workspace ID")
	}
	return nil
}

// UnmarshalJSON decodes a workspace, with its time in any form of ISO 8601.
func (w *Workspace) UnmarshalJSON(data []byte) error {
	var wire struct {
		ID        string  `json:"id"`
		Name      string  `json:"name"`
		CreatedAt isoTime `json:"createdAt"`
		AI        bool    `json:"enableAIProcessing"`
	}
	err := json.Unmarshal(data, &wire)
	*w = Workspace{ID: wire.ID, Name: wire.Name, CreatedAt: wire.CreatedAt.Time, AIProcessing: wire.AI}
	return err
}

// Workspaces returns all workspaces that the token can access. The route has several versions;
// older installations only have the first one.
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	for _, route := range []string{"/v3/workspaces", "/v2/workspaces"} {
		all, err := c.workspaces(ctx, route)
		if !errors.Is(err, fs.ErrNotExist) {
			return all, err
		}
	}
	return c.workspaces(ctx, "/workspaces")
}

// FindWorkspaces selects workspaces. Empty fields are no conditions.
type FindWorkspaces struct {
	Phrase string   // in the name
	IDs    []string // any of these
	SortBy string   // ByName or ByCreatedAt; empty: default of the service
	Order  string
}

// ByCreatedAt is a value for SortBy of FindWorkspaces.
const ByCreatedAt = "createdAt"

// FindWorkspaces yields the selected workspaces that the token can access. Older installations do
// not support it. At most one error is yielded, as the last item.
func (c *Client) FindWorkspaces(ctx context.Context, f FindWorkspaces) iter.Seq2[Workspace, error] {
	query := url.Values{}
	setUnlessEmpty(query, "searchPhrase", f.Phrase)
	setUnlessEmpty(query, "ids", strings.Join(f.IDs, ","))
	setUnlessEmpty(query, "sortBy", f.SortBy)
	setUnlessEmpty(query, "order", f.Order)
	return list(ctx, c, request{op: "find workspaces", route: "/v3/workspaces", query: query}, workspacesPage,
		func(w Workspace) string { return w.ID })
}

func (c *Client) workspaces(ctx context.Context, route string) ([]Workspace, error) {
	var all []Workspace
	for w, err := range list(ctx, c, request{op: "list workspaces", route: route, query: url.Values{}}, workspacesPage,
		func(w Workspace) string { return w.ID }) {
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// CreateWorkspace creates a workspace and returns its ID. It requires a superadmin.
func (c *Client) CreateWorkspace(ctx context.Context, name string) (string, error) {
	return c.create(ctx, "create workspace", name, "/superadmin/workspaces", nil, map[string]string{"name": name})
}

// RenameWorkspace renames a workspace. It requires a superadmin.
func (c *Client) RenameWorkspace(ctx context.Context, id, name string) error {
	return c.do(ctx, &request{
		op: "rename workspace", subject: id,
		method: http.MethodPut, route: "/superadmin/workspaces/{id}", path: "/superadmin/workspaces/" + url.PathEscape(id),
		body: jsonPayload(map[string]string{"name": name}),
		into: nothing{},
	})
}

// DeleteWorkspace permanently deletes a workspace with all its contents. It requires a superadmin.
// To prevent mistakes, the name is required, too; if it does not match, nothing is deleted.
func (c *Client) DeleteWorkspace(ctx context.Context, id, name string) error {
	all, err := c.Workspaces(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w Workspace) bool { return w.ID == id })
	if i < 0 {
		return fmt.Errorf("delete workspace %s: %w in the environment", id, fs.ErrNotExist)
	}
	if all[i].Name != name {
		return fmt.Errorf("delete workspace %s: not deleted, because its name is %q, not %q", id, all[i].Name, name)
	}
	return c.do(ctx, &request{
		op: "delete workspace", subject: id,
		method: http.MethodDelete, route: "/superadmin/workspaces/{id}", path: "/superadmin/workspaces/" + url.PathEscape(id),
		into: nothing{},
	})
}

// WorkspaceChanges are the properties to set; nil fields do not change.
type WorkspaceChanges struct {
	Name         *string `json:"name,omitempty"`
	AIProcessing *bool   `json:"enableAIProcessing,omitempty"`
}

// ConfigureWorkspace changes a workspace. It requires an admin. The body is a guess.
func (c *Client) ConfigureWorkspace(ctx context.Context, id string, changes WorkspaceChanges) (Workspace, error) {
	var w Workspace
	err := c.do(ctx, &request{
		op: "configure workspace", subject: id,
		method: http.MethodPut, route: "/admin/workspaces/{id}", path: "/admin/workspaces/" + url.PathEscape(id),
		body: jsonPayload(changes),
		into: &w,
	})
	return w, err
}

// WorkspaceExtensions are the allowed extensions of a workspace, and the extensions of its files.
type WorkspaceExtensions struct {
	Allowed []string `json:"allowedExtensions"`
	InUse   []string `json:"extensionsInUse"`
}

func (*WorkspaceExtensions) check() error { return nil }

// WorkspaceExtensions returns the extensions of the workspace.
func (c *Client) WorkspaceExtensions(ctx context.Context) (WorkspaceExtensions, error) {
	var e WorkspaceExtensions
	err := c.do(ctx, &request{
		op: "read extensions of workspace", method: http.MethodGet, route: "/workspaces/metadata",
		query: c.inWorkspace(),
		into:  &e,
	})
	return e, err
}

// Limits are the limits of the customer's plan; 0 means unknown.
type Limits struct {
	Plan              string  `json:"pricingPlanName"`
	MaxFileSize       int64   `json:"maxFileSizeInBytesLimit"`
	MaxMegapixels     float64 `json:"maxImageInMegapixelsLimit"`
	BandwidthExceeded bool    `json:"isMaxBandwidthExceeded"`
	StorageExceeded   bool    `json:"isMaxStorageSizeExceeded"`
	// Such flags are known to exist; their names are guesses.
	ImageProcessing bool `json:"isImageProcessingEnabled"`
	SemanticSearch  bool `json:"isSemanticSearchEnabled"`
}

func (*Limits) check() error { return nil }

// Limits returns the limits of the plan.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	var l Limits
	err := c.do(ctx, &request{op: "read limits", method: http.MethodGet, route: "/limits", into: &l})
	return l, err
}
