package assets

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
)

// Recent yields the assets that the user of the token used, the latest first. It is a guess that an
// upload counts as a use.
func (c *Client) Recent(ctx context.Context) iter.Seq2[Asset, error] {
	return list(ctx, c, request{op: "list recent assets", route: "/assets/recent", query: c.inWorkspace()},
		defaultPageSize, func(a Asset) string { return a.ID })
}

// MarkUsed records the use of assets, with the first one as the latest. It is a guess that the
// service uses this order.
func (c *Client) MarkUsed(ctx context.Context, ids ...string) error {
	for _, batch := range slices.Backward(slices.Collect(slices.Chunk(ids, bulkBatch))) {
		err := c.do(ctx, &request{
			op: "mark as used", subject: strconv.Itoa(len(batch)) + " assets",
			method: http.MethodPut, route: "/assets/recent",
			query: c.inWorkspace(),
			body:  jsonPayload(batch),
			into:  nothing{},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
