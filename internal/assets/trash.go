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

// Trash moves assets to the trash, from where [Client.Restore] gets them back.
// What it could not do is in a [BulkError]. An asset that is in the trash stays
// there, so the request is repeated after transient errors; if one got through
// whose answer did not, the repetition may list its assets as missing (404).
func (c *Client) Trash(ctx context.Context, ids ...string) error {
	return c.bulkIDs(ctx, "trash", "/assets/trash", ids)
}

// Delete deletes assets for good, whether they are in the trash or not. What it
// could not do is in a [BulkError]; it is repeated as [Client.Trash] is.
func (c *Client) Delete(ctx context.Context, ids ...string) error {
	return c.bulkIDs(ctx, "delete", "/assets/delete", ids)
}

// Trashed yields the assets in the trash of the workspace, as [Client.List] does.
func (c *Client) Trashed(ctx context.Context) iter.Seq2[Asset, error] {
	return list(ctx, c, request{op: "list trash", route: "/assets/trash", query: c.inWorkspace()},
		defaultPageSize, func(a Asset) string { return a.ID })
}

// A Restoration is an asset to be taken out of the trash.
type Restoration struct {
	AssetID string
	Target  Target // the zero value is where it was
	IfTaken Action // what to do if its name is taken there
}

func (r Restoration) body() map[string]any {
	body := assetAction(r.AssetID, r.IfTaken)
	if field, id := r.Target.field(); field != "" {
		body["target"] = map[string]string{field: id}
	}
	return body
}

// Restore takes assets out of the trash. What it could not do is in a [BulkError].
// It is repeated as [Client.Trash] is, since an asset that has been restored is
// not in the trash any more.
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

// A Restorability says what stands in the way of an asset on its way out of the
// trash.
type Restorability struct {
	SourceExists     bool `json:"sourceExists"` // the place it came from
	NameConflict     bool `json:"hasNameConflict"`
	ExtensionAllowed bool `json:"isExtensionAllowed"`
}

// ValidateRestore says of each asset what restoring it would meet. Those that the
// service does not know in its trash are left out.
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
