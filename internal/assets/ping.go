package assets

import (
	"context"
	"net/http"
	"time"
)

const pingTimeout = 10 * time.Second

// Ping makes the first contact: whether the service is there and accepts our
// token. Whoever waits for it is a person, so it gives up within ten seconds.
func (c *Client) Ping(ctx context.Context) error {
	return c.ping(ctx, "first request", "/categories")
}

// PingAdmin asks whether our token may call the routes for administrators, in the way
// that changes nothing: it lists. If not, the error has the status 403.
func (c *Client) PingAdmin(ctx context.Context) error {
	return c.ping(ctx, "list categories as administrator", "/admin/categories")
}

// ping lists one category by a route.
func (c *Client) ping(ctx context.Context, op, route string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return c.do(ctx, &request{
		op: op, method: http.MethodGet, route: route,
		query: c.inWorkspace("limit", "1"),
		into:  new(page[Category]),
	})
}
