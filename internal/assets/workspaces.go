package assets

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"time"
)

const workspacesPage = 50

// A Workspace is a part of an environment with assets of its own.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// UnmarshalJSON reads the time, which comes in any form of ISO 8601.
func (w *Workspace) UnmarshalJSON(data []byte) error {
	var wire struct {
		ID        string  `json:"id"`
		Name      string  `json:"name"`
		CreatedAt isoTime `json:"createdAt"`
	}
	err := json.Unmarshal(data, &wire)
	*w = Workspace{ID: wire.ID, Name: wire.Name, CreatedAt: wire.CreatedAt.Time}
	return err
}

// Workspaces returns all workspaces that the token may see. There are several
// generations of the route; older installations have the first one only.
func (c *Client) Workspaces(ctx context.Context) ([]Workspace, error) {
	all, err := c.workspaces(ctx, "/v3/workspaces")
	if errors.Is(err, fs.ErrNotExist) {
		return c.workspaces(ctx, "/workspaces")
	}
	return all, err
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

// CreateWorkspace makes a workspace and returns its ID. It takes a superadmin.
func (c *Client) CreateWorkspace(ctx context.Context, name string) (string, error) {
	return c.create(ctx, "create workspace", name, "/superadmin/workspaces", nil, map[string]string{"name": name})
}

// Limits are what the customer's plan allows; 0 means that the service did not
// say.
type Limits struct {
	Plan              string  `json:"pricingPlanName"`
	MaxFileSize       int64   `json:"maxFileSizeInBytesLimit"`
	MaxMegapixels     float64 `json:"maxImageInMegapixelsLimit"`
	BandwidthExceeded bool    `json:"isMaxBandwidthExceeded"`
	StorageExceeded   bool    `json:"isMaxStorageSizeExceeded"`
	// That there are flags like these is known; their names are guesses.
	ImageProcessing bool `json:"isImageProcessingEnabled"`
	SemanticSearch  bool `json:"isSemanticSearchEnabled"`
}

func (*Limits) check() error { return nil }

// Limits returns what the plan allows.
func (c *Client) Limits(ctx context.Context) (Limits, error) {
	var l Limits
	err := c.do(ctx, &request{op: "read limits", method: http.MethodGet, route: "/limits", into: &l})
	return l, err
}
