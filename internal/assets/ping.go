package assets

import (
	"context"
	"net/http"
	"time"
)

const pingTimeout = 10 * time.Second

// Ping verifies that the service answers and accepts the token. It gives up after ten seconds,
// because a person waits for the result.
func (c *Client) Ping(ctx context.Context) error {
	return c.ping(ctx, "first request", "/categories")
}

// PingAdmin verifies that the token may call the routes for administrators, with a request that
// only reads. If it may not, the error has the status 403.
func (c *Client) PingAdmin(ctx context.Context) error {
	return c.ping(ctx, "list categories as administrator", "/admin/categories")
}

// ping lists one category with the given route.
func (c *Client) ping(ctx context.Context, op, route string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return c.do(ctx, &request{
		op: op, method: http.MethodGet, route: route,
		query: c.inWorkspace("limit", "1"),
		into:  new(page[Category]),
	})
}
