package assets

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
)

// categoriesPage is the largest page that public clients ask for.
const categoriesPage = 500

// A Category holds assets and folders.
type Category struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Extensions  []string `json:"extensions"` // what may be uploaded; without dots
	AssetsCount int      `json:"assetsCount"`
	Private     bool     `json:"isPrivate"`

	// ExtensionsInUse are those of the files in it, from CategoriesInUse only; nil
	// if the service did not say.
	ExtensionsInUse []string `json:"extensionsInUse"`
}

func (c *Category) check() error {
	if c.ID == "" {
		return errors.New("it is not a category: no id")
	}
	return nil
}

// Categories yields all categories in the service's order. At most one error
// comes, and it comes last.
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

// NewCategory describes a category to be made, or what becomes of one.
type NewCategory struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"` // at least one, without dots
	Private    bool     `json:"isPrivate,omitempty"`
}

// CreateCategory makes a category and returns its ID. It takes an admin. The
// service does not mind equal names.
func (c *Client) CreateCategory(ctx context.Context, n NewCategory) (string, error) {
	return c.create(ctx, "create category", n.Name, "/admin/categories", c.inWorkspace(), n)
}
