package assets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// Values of ListOptions.
const (
	ByName           = "name"
	BySize           = "size"
	ByUploadedAt     = "uploadedAt"
	ByLastModifiedAt = "lastModifiedAt"

	Ascending  = "asc"
	Descending = "desc"
)

// defaultPageSize is what the vendor's own clients ask for.
const defaultPageSize = 50

// ListOptions say what to list: a category or a folder. A category's list does
// not hold what is in its folders.
type ListOptions struct {
	CategoryID string
	FolderID   string
	SortBy     string // empty: as the service likes
	Order      string
	PageSize   int // 50 if zero; less if the service refuses that
	// Overlap has each page begin with the last asset of the one before. Then none is missed
	// either where as many are added as are removed meanwhile, if the order is one in which
	// those that were there keep theirs.
	Overlap bool
}

// List yields the assets of a category or a folder. At most one error comes, it
// comes last, and it means that the list is not complete. An asset may come twice
// if many are added meanwhile.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Asset, error] {
	if (o.CategoryID == "") == (o.FolderID == "") {
		return failed[Asset](errors.New("list assets: needs a category or a folder, and not both"))
	}
	subject := "of folder " + o.FolderID
	query := c.inWorkspace()
	if o.FolderID == "" {
		subject = "of category " + o.CategoryID
		query.Set("categoryId", o.CategoryID)
	} else {
		query.Set("folderId", o.FolderID)
	}
	setUnlessEmpty(query, "sortBy", o.SortBy)
	setUnlessEmpty(query, "order", o.Order)
	all := pages(ctx, c, request{op: "list assets", subject: subject, route: "/assets", query: query},
		pager[wireAsset]{limit: cmp.Or(o.PageSize, defaultPageSize), id: func(a wireAsset) string { return a.ID }, overlap: o.Overlap}, byQuery)
	return func(yield func(Asset, error) bool) {
		for a, err := range all {
			if !yield(a.asset(), err) {
				return
			}
		}
	}
}

// list yields the items of any paged route.
func list[T any](ctx context.Context, c *Client, r request, limit int, id func(T) string) iter.Seq2[T, error] {
	return pages(ctx, c, r, pager[T]{limit: limit, id: id}, byQuery)
}

// byQuery makes a request ask for a page as most routes want it.
func byQuery(r *request, limit, offset int) {
	r.method = http.MethodGet
	r.query = maps.Clone(r.query)
	r.query.Set("limit", strconv.Itoa(limit))
	r.query.Set("offset", strconv.Itoa(offset))
}

// whole reads a list of a route that is not known to page. Should it do so
// nevertheless, that is an error: an incomplete list must not pass for a complete
// one.
func whole[T any](ctx context.Context, c *Client, r request) ([]T, error) {
	var got page[T]
	r.method, r.into = http.MethodGet, &got
	if err := c.do(ctx, &r); err != nil {
		return nil, err
	}
	if got.TotalCount != nil && *got.TotalCount > len(got.Items) {
		return nil, fmt.Errorf("%s: list ends at %d of %d", r.op, len(got.Items), *got.TotalCount)
	}
	return got.Items, nil
}

// pages yields the items of a request that turn makes ask for a page.
func pages[T any](ctx context.Context, c *Client, r request, p pager[T], turn func(r *request, limit, offset int)) iter.Seq2[T, error] {
	p.fetch = func(ctx context.Context, limit, offset int) (got page[T], err error) {
		size, err := c.pageSizes.ask(r.route, limit, func(limit int) error {
			r := r
			turn(&r, limit, offset)
			got = page[T]{}
			r.into = &got
			return c.do(ctx, &r)
		})
		if got.Limit <= 0 || got.Limit > size { // a service may allow less than we ask for
			got.Limit = size
		}
		return got, err
	}
	return func(yield func(T, error) bool) {
		for item, err := range p.items(ctx) {
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				err = fmt.Errorf("%s: %w", r.op, err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

func setUnlessEmpty(query url.Values, key, value string) {
	if value != "" {
		query.Set(key, value)
	}
}
