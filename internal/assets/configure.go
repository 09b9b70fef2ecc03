package assets

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// An InUseError reports that a change of a category would have permanently deleted files, and
// was not made.
type InUseError struct {
	Op         string
	CategoryID string
	Extensions []string // of the files
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s %s: not executed, because it would permanently delete all files with these extensions: %s", e.Op, e.CategoryID, strings.Join(e.Extensions, ", "))
}

// CategoriesInUse is [Client.Categories] with the extensions in use. It requires an admin.
func (c *Client) CategoriesInUse(ctx context.Context) iter.Seq2[Category, error] {
	return list(ctx, c, request{op: "list categories", route: "/admin/categories", query: c.inWorkspace()},
		categoriesPage, func(c Category) string { return c.ID })
}

// ConfigureCategory sets all properties of a category. It requires an admin.
//
// The service permanently deletes the files of a removed extension. So the extensions in use
// are read first. If one would be removed that is not in lose, nothing changes and the error is
// an [InUseError]. A file that is uploaded between this check and the change is still lost.
func (c *Client) ConfigureCategory(ctx context.Context, id string, s NewCategory, lose ...string) (Category, error) {
	const op = "configure category"
	if err := c.checkLoss(ctx, op, id, append(slices.Clone(s.Extensions), lose...)); err != nil {
		return Category{}, err
	}
	var category Category
	err := c.do(ctx, &request{
		op: op, subject: id,
		method: http.MethodPut, route: "/admin/categories/{id}", path: "/admin/categories/" + url.PathEscape(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]any{"name": s.Name, "extensions": s.Extensions, "isPrivate": s.Private}),
		into:  &category,
	})
	return category, err
}

// DeleteCategory permanently deletes a category with all of its files. It requires an admin.
// The extensions of files that may be lost are given. If there are others, nothing is deleted
// and the error is an [InUseError].
//
// It is repeated after transient errors. If a request succeeded without a response, the
// repetition finds no category (fs.ErrNotExist).
func (c *Client) DeleteCategory(ctx context.Context, id string, lose ...string) error {
	const op = "delete category"
	if err := c.checkLoss(ctx, op, id, lose); err != nil {
		return err
	}
	return c.do(ctx, &request{
		op: op, subject: id,
		method: http.MethodDelete, route: "/admin/categories/{id}", path: "/admin/categories/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// checkLoss checks that a category has no files with other extensions than those that stay or
// may be lost.
func (c *Client) checkLoss(ctx context.Context, op, id string, spared []string) error {
	category, err := c.categoryInUse(ctx, op, id)
	if err != nil {
		return err
	}
	lost := without(category.inUse(), spared)
	if len(lost) > 0 {
		return &InUseError{Op: op, CategoryID: id, Extensions: lost}
	}
	return nil
}

// inUse returns the extensions of the files in a category. If the service does not report them,
// any may be in use.
func (c *Category) inUse() []string {
	if c.ExtensionsInUse == nil {
		return slices.Clone(c.Extensions)
	}
	return slices.Clone(c.ExtensionsInUse)
}

// OrderCategories sets the order of all categories in the workspace. It requires an admin. The
// body is a guess.
func (c *Client) OrderCategories(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return errors.New("order categories: no categories given")
	}
	return c.do(ctx, &request{
		op:     "order categories",
		method: http.MethodPut, route: "/admin/categories/order",
		query: c.inWorkspace(),
		body:  jsonPayload(map[string][]string{"categoriesIds": ids}),
		into:  nothing{},
	})
}

// nothing is a response whose body is ignored.
type nothing struct{}

func (nothing) read(int, []byte) error { return nil }
func (nothing) check() error           { return nil }
