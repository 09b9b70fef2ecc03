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
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return c.do(ctx, &request{
		op: "first contact", method: http.MethodGet, route: "/categories",
		query: c.inWorkspace("limit", "1"),
		into:  new(page[Category]),
	})
}

// PingAdmin asks whether our token may call the routes for administrators, in the way
// that changes nothing: it lists. If not, the error has the status 403.
func (c *Client) PingAdmin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return c.do(ctx, &request{
		op: "list categories as administrator", method: http.MethodGet, route: "/admin/categories",
		query: c.inWorkspace("limit", "1"),
		into:  new(page[Category]),
	})
}
