package assets

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
)

// categoriesPage is the largest page size of public clients.
const categoriesPage = 500

// A Category contains assets and folders.
type Category struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Extensions  []string `json:"extensions"` // allowed for uploads, without dots
	AssetsCount int      `json:"assetsCount"`
	Private     bool     `json:"isPrivate"`

	// ExtensionsInUse are the extensions of its files, only from CategoriesInUse; nil if
	// unknown.
	ExtensionsInUse []string `json:"extensionsInUse"`
}

func (c *Category) check() error {
	if c.ID == "" {
		return errors.New("no category ID")
	}
	return nil
}

// Categories yields all categories in the order of the service. At most one error is yielded,
// as the last item.
func (c *Client) Categories(ctx context.Context) iter.Seq2[Category, error] {
	return list(ctx, c, request{op: "list categories", route: "/categories", query: c.inWorkspace()},
		categoriesPage, func(c Category) string { return c.ID })
}

// Category returns one category.
func (c *Client) Category(ctx context.Context, id string) (Category, error) {
	var category Category
	err := c.do(ctx, &request{
		op: "read category", subject: id,
		method: http.MethodGet, route: "/categories/{id}", path: "/categories/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  &category,
	})
	return category, err
}

// NewCategory is a category to create, or new values for one.
type NewCategory struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"` // at least one, without dots
	Private    bool     `json:"isPrivate,omitempty"`
}

// CreateCategory creates a category and returns its ID. It requires an admin. The service
// accepts equal names.
func (c *Client) CreateCategory(ctx context.Context, n NewCategory) (string, error) {
	return c.create(ctx, "create category", n.Name, "/admin/categories", c.inWorkspace(), n)
}
