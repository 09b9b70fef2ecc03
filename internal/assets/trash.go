package assets

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// Trash moves assets to the trash, from which [Client.Restore] restores them. Failed assets are in
// a [BulkError]. The request is idempotent and repeated after transient errors. If a request
// succeeded without an answer, the repetition may list its assets as missing (404).
func (c *Client) Trash(ctx context.Context, ids ...string) error {
	return c.bulkIDs(ctx, "trash", "/assets/trash", ids)
}

// Delete permanently deletes assets, in the trash or not. Failed assets are in a [BulkError]. It is
// repeated like [Client.Trash].
func (c *Client) Delete(ctx context.Context, ids ...string) error {
	return c.bulkIDs(ctx, "delete", "/assets/delete", ids)
}

// Trashed yields the assets in the trash of the workspace, like [Client.List].
func (c *Client) Trashed(ctx context.Context) iter.Seq2[Asset, error] {
	return list(ctx, c, request{op: "list trash", route: "/assets/trash", query: c.inWorkspace()},
		defaultPageSize, func(a Asset) string { return a.ID })
}

// A Restoration is an asset to restore from the trash.
type Restoration struct {
	AssetID string
	Target  Target // zero value: its previous place
	IfTaken Action // if its name exists there
}

func (r Restoration) body() map[string]any {
	body := assetAction(r.AssetID, r.IfTaken)
	if field, id := r.Target.field(); field != "" {
		body["target"] = map[string]string{field: id}
	}
	return body
}

// Restore restores assets from the trash. Failed assets are in a [BulkError]. It is repeated like
// [Client.Trash], because a restored asset is no longer in the trash.
func (c *Client) Restore(ctx context.Context, restorations ...Restoration) error {
	return bulk[Restoration]{
		request: request{op: "restore", route: "/assets/restore"},
		items:   restorations,
		id:      func(r Restoration) string { return r.AssetID },
		body: func(batch []Restoration) any {
			actions := make([]map[string]any, len(batch))
			for i, r := range batch {
				actions[i] = r.body()
			}
			return map[string]any{"assetsActions": actions}
		},
	}.do(ctx, c)
}

// A Restorability lists the obstacles to restoring an asset.
type Restorability struct {
	SourceExists     bool `json:"sourceExists"` // its previous place
	NameConflict     bool `json:"hasNameConflict"`
	ExtensionAllowed bool `json:"isExtensionAllowed"`
}

// ValidateRestore returns the obstacles to restoring each asset. It omits assets that are not in
// the trash.
func (c *Client) ValidateRestore(ctx context.Context, ids ...string) (map[string]Restorability, error) {
	all := make(map[string]Restorability)
	for batch := range slices.Chunk(ids, bulkBatch) {
		var got restorabilities
		err := c.do(ctx, &request{
			op: "validate restore", subject: strconv.Itoa(len(batch)) + " assets",
			method: http.MethodPost, route: "/assets/restore/validate",
			query: c.inWorkspace(),
			body:  jsonPayload(map[string]any{"assetsIds": batch}),
			into:  &got,
		})
		if err != nil {
			return all, err
		}
		maps.Copy(all, got.Assets)
	}
	return all, nil
}

type restorabilities struct {
	Assets map[string]Restorability `json:"assets"`
}

func (r *restorabilities) check() error {
	if r.Assets == nil {
		return errors.New("no assets")
	}
	return nil
}
