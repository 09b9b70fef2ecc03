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

// An InUseError says that a change of a category would have deleted files for
// good, and was not made.
type InUseError struct {
	Op         string
	CategoryID string
	Extensions []string // those of the files
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s %s: not executed, because it would permanently delete all files with these extensions: %s", e.Op, e.CategoryID, strings.Join(e.Extensions, ", "))
}

// CategoriesInUse is [Client.Categories] with the extensions that are in use. It
// takes an admin.
func (c *Client) CategoriesInUse(ctx context.Context) iter.Seq2[Category, error] {
	return list(ctx, c, request{op: "list categories", route: "/admin/categories", query: c.inWorkspace()},
		categoriesPage, func(c Category) string { return c.ID })
}

// ConfigureCategory sets everything that can be set of a category. It takes an
// admin.
//
// The service deletes the files of an extension that is dropped for good. So the
// extensions in use are looked up first, and if one is dropped that is not among
// lose, nothing is changed and the error is an [InUseError]. A file that comes in
// between the look and the change is lost nevertheless.
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

// DeleteCategory deletes a category with every file in it, for good. It takes an
// admin. The files that the caller is ready to lose are given by their extensions;
// if there are others, nothing is deleted and the error is an [InUseError].
//
// It is repeated after transient errors; if a request got through whose answer did
// not, the repetition finds no such category (fs.ErrNotExist).
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

// checkLoss makes sure that no extension is in use in a category but those that
// stay or may be lost.
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

// inUse are the extensions of the files in a category. If the service does not
// say, any may be in use.
func (c *Category) inUse() []string {
	if c.ExtensionsInUse == nil {
		return slices.Clone(c.Extensions)
	}
	return slices.Clone(c.ExtensionsInUse)
}

// OrderCategories sets the order in which the categories of the workspace are
// listed: all of them, once each. It takes an admin. The body is a guess.
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

// nothing is an answer whose body does not matter.
type nothing struct{}

func (nothing) read(int, []byte) error { return nil }
func (nothing) check() error           { return nil }
