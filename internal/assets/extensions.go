package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A ChangedError reports that another user changed a category, so that it was not changed.
type ChangedError struct{ Op, CategoryID string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s %s: not changed, because another user changed the category in the meantime", e.Op, e.CategoryID)
}

// CategoryInUse returns a category with the extensions in use. It requires an admin.
func (c *Client) CategoryInUse(ctx context.Context, id string) (Category, error) {
	return c.categoryInUse(ctx, "read category", id)
}

func (c *Client) categoryInUse(ctx context.Context, op, id string) (Category, error) {
	for category, err := range c.CategoriesInUse(ctx) {
		if err != nil || category.ID == id {
			return category, err
		}
	}
	return Category{}, fmt.Errorf("%s %s: %w in the workspace", op, id, fs.ErrNotExist)
}

// AddExtensions adds extensions to a category; was is the result of CategoryInUse. It requires an
// admin.
//
// The service can only set all extensions of a category, and permanently deletes the files of
// omitted ones. Therefore the category is read again first. Nothing is sent if it changed (a
// [ChangedError]), or if it contains files whose extension would be omitted (an [InUseError]). The
// request is never repeated, because that would remove an extension that was added in between.
func (c *Client) AddExtensions(ctx context.Context, was Category, extensions ...string) (Category, error) {
	const op = "add extensions to category"
	now, err := c.categoryInUse(ctx, op, was.ID)
	switch {
	case err != nil:
		return Category{}, err
	case len(now.Extensions) == 0:
		return Category{}, fmt.Errorf("%s %s: the service does not report the allowed extensions", op, was.ID)
	case !now.isConfiguredAs(was):
		return Category{}, &ChangedError{op, was.ID}
	}
	all := append(slices.Clone(now.Extensions), extensions...)
	if lost := without(now.inUse(), all); len(lost) > 0 {
		return Category{}, &InUseError{op, was.ID, lost}
	}
	var category Category
	err = c.do(ctx, &request{
		op: op, subject: was.ID,
		method: http.MethodPut, route: "/admin/categories/{id}", path: "/admin/categories/" + url.PathEscape(was.ID),
		query:   c.inWorkspace(),
		body:    jsonPayload(map[string]any{"name": now.Name, "extensions": all, "isPrivate": now.Private}),
		creates: true, // without an answer it is unconfirmed
		once:    true,
		into:    &category,
	})
	if missing := without(all, category.Extensions); err == nil && category.Extensions != nil && len(missing) > 0 {
		err = errors.New(op + " " + was.ID + ": the response of the service does not contain " + strings.Join(missing, ", "))
	}
	return category, err
}

// isConfiguredAs reports whether all properties that can be set are equal in two categories.
func (c Category) isConfiguredAs(other Category) bool {
	return c.Name == other.Name && c.Private == other.Private &&
		slices.Equal(slices.Sorted(slices.Values(c.Extensions)), slices.Sorted(slices.Values(other.Extensions)))
}

// without returns the extensions that are not among others, ignoring case.
func without(extensions, others []string) []string {
	return slices.DeleteFunc(slices.Clone(extensions), func(e string) bool {
		return slices.ContainsFunc(others, func(o string) bool { return strings.EqualFold(o, e) })
	})
}
