package assets

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"assetferry/internal/assets/paging"
	"assetferry/internal/outbound"
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

// defaultPageSize is the page size of the vendor's clients.
const defaultPageSize = 50

// ListOptions select a category or a folder to list. The list contains only assets directly in that
// place. It is not documented what the service lists, so assets are filtered by their folder.
type ListOptions struct {
	CategoryID string
	FolderID   string
	SortBy     string // empty: default of the service
	Order      string
	PageSize   int // 50 if zero; less if the service refuses that
	// Overlap makes each page begin with the last asset of the previous one. Then no asset is
	// missed even if as many are added as are removed meanwhile, provided that existing assets keep
	// their order.
	Overlap bool
	// Since omits assets that were uploaded, or with ByLastModifiedAt modified, before a time.
	// Assets without a time are kept. A list in order of age, newest first, ends after the page
	// that reaches the time, unless the service is known to ignore that order: then the list is
	// read completely.
	Since time.Time
	// AsListed includes assets of other places that the service lists, for probes.
	AsListed bool
}

// holds reports whether an asset belongs to the list.
func (o ListOptions) holds(a *wireAsset) bool {
	switch {
	case o.AsListed:
		return true
	case o.FolderID == "":
		return a.FolderID == ""
	}
	return a.FolderID == o.FolderID || a.FolderID == "" // some services may omit it
}

// age returns the time that Since compares.
func (o ListOptions) age(a *wireAsset) time.Time {
	if o.SortBy == ByLastModifiedAt {
		return a.LastModifiedAt.Time
	}
	return a.UploadedAt.Time
}

// List yields the assets of a category or a folder. At most one error is yielded, as the last item;
// it means that the list is incomplete. An asset may be yielded twice if many are added meanwhile.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Asset, error] {
	r, err := c.listRequest(o)
	if err != nil {
		return failed[Asset](err)
	}
	p := paging.Pager[wireAsset]{Limit: cmp.Or(o.PageSize, defaultPageSize), ID: func(a wireAsset) string { return a.ID }, Overlap: o.Overlap}
	return func(yield func(Asset, error) bool) {
		p := p
		if !o.Since.IsZero() && o.Order == Descending && (o.SortBy == ByUploadedAt || o.SortBy == ByLastModifiedAt) {
			w := &descent{client: c, options: o}
			p.Last = w.isPast
		}
		for a, err := range pages(ctx, c, r, p, byQuery) {
			age := o.age(&a)
			if err == nil && (!o.holds(&a) || !age.IsZero() && age.Before(o.Since)) {
				continue
			}
			if !yield(a.asset(), err) {
				return
			}
		}
	}
}

// listRequest returns the request for a list, without a page.
func (c *Client) listRequest(o ListOptions) (request, error) {
	if (o.CategoryID == "") == (o.FolderID == "") {
		return request{}, errors.New("list assets: needs either a category or a folder")
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
	return request{op: "list assets", subject: subject, route: "/assets", query: query}, nil
}

// A ListPage is one page of a list of assets.
type ListPage struct {
	Assets []Asset // those of the place that are wanted
	Items  int     // length of the page, with all other assets
	Total  int     // length of the list; -1 if unknown
	Full   bool    // another page follows if the total is unknown
}

// ListPage returns the page of a list at an offset, with only the assets that wanted accepts by
// their ID. The ID is valid until wanted returns. It ignores Overlap and Since. A caller that reads
// several pages misses assets if the list changes meanwhile.
func (c *Client) ListPage(ctx context.Context, o ListOptions, offset int, wanted func(id []byte) bool) (ListPage, error) {
	r, err := c.listRequest(o)
	if err != nil {
		return ListPage{}, err
	}
	fetch := paging.Fetch(&c.pageSizes, r.route, func(ctx context.Context, limit, offset int) (paging.Page[wireAsset], error) {
		r := r
		byQuery(&r, limit, offset)
		var got page[wireAsset]
		got.Wanted = func(item []byte) bool { id, ok := idOf(item); return !ok || wanted(id) }
		r.into = &got
		err := c.do(ctx, &r)
		return got.Page, err
	})
	got, err := fetch(ctx, cmp.Or(o.PageSize, defaultPageSize), offset)
	if err != nil {
		return ListPage{}, r.named(err)
	}
	result := ListPage{Items: got.Read(), Total: -1, Full: !got.Final && got.Read() > 0 && got.Read() >= got.Limit}
	if got.TotalCount != nil {
		result.Total = *got.TotalCount
	}
	for n := range got.Items {
		if a := &got.Items[n]; o.holds(a) && wanted([]byte(a.ID)) {
			result.Assets = append(result.Assets, a.asset())
		}
	}
	return result, nil
}

// idOf returns the ID of an asset in JSON if that is its first field, as the service sends it. It
// is many times faster than decoding the asset.
func idOf(item []byte) (id []byte, ok bool) {
	rest, ok := bytes.CutPrefix(item, []byte(`{"id":"`))
	if !ok {
		return nil, false
	}
	id, _, ok = bytes.Cut(rest, []byte{'"'})
	return id, ok && bytes.IndexByte(id, '\\') < 0
}

// A descent checks a list that should be newest first. It is not documented that services respect
// the requested order, so the order is trusted only once the times have decreased, and never after
// they increased.
type descent struct {
	client  *Client
	options ListOptions
	lowest  time.Time
	fell    bool
}

// isPast reports whether all assets after a page are older than Since.
func (d *descent) isPast(page []wireAsset) bool {
	for n := range page {
		switch age := d.options.age(&page[n]); {
		case age.IsZero():
			continue
		case !d.lowest.IsZero() && age.After(d.lowest):
			d.client.Unordered()
		case !d.lowest.IsZero() && age.Before(d.lowest):
			d.fell = true
			fallthrough
		default:
			d.lowest = age
		}
	}
	return d.fell && d.lowest.Before(d.options.Since) && !d.client.unordered.Load()
}

// Unordered records that the service ignores the requested order of lists. The client does not rely
// on the order from then on.
func (c *Client) Unordered() { c.unordered.Store(true) }

// list yields the items of a paged route.
func list[T any](ctx context.Context, c *Client, r request, limit int, id func(T) string) iter.Seq2[T, error] {
	return pages(ctx, c, r, paging.Pager[T]{Limit: limit, ID: id}, byQuery)
}

// byQuery sets the limit and the offset of a request as query parameters.
func byQuery(r *request, limit, offset int) {
	r.method = http.MethodGet
	if r.query = maps.Clone(r.query); r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set("limit", strconv.Itoa(limit))
	r.query.Set("offset", strconv.Itoa(offset))
}

// whole reads a list of a route that is not known to be paged, at first without a limit. If the
// service pages it nevertheless, the list is read to its end, because an incomplete list must not
// pass for a complete one.
func whole[T any](ctx context.Context, c *Client, r request, id func(T) string) ([]T, error) {
	var size int // size of the first page
	p := paging.Pager[T]{ID: id, Fetch: func(ctx context.Context, _, offset int) (paging.Page[T], error) {
		r := r
		if r.method = http.MethodGet; offset > 0 {
			byQuery(&r, size, offset)
		}
		var got page[T]
		r.into = &got
		if err := c.do(ctx, &r); err != nil {
			return got.Page, err
		}
		if offset == 0 {
			size = len(got.Items)
		}
		got.Final = got.IsWhole(offset)
		return got.Page, nil
	}}
	all, err := collect(r, p.Items(ctx))
	if _, large := errors.AsType[*outbound.TooLargeError](err); large {
		return collect(r, list(ctx, c, r, largePage, id))
	}
	return all, err
}

// largePage is the page size for lists that are too long for one answer.
const largePage = 500

func collect[T any](r request, items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, r.named(err)
		}
		all = append(all, item)
	}
	return all, nil
}

// pages yields the items of all pages of a request. setPage sets the limit and the offset of a
// request.
func pages[T any](ctx context.Context, c *Client, r request, p paging.Pager[T], setPage func(r *request, limit, offset int)) iter.Seq2[T, error] {
	p.Fetch = paging.Fetch(&c.pageSizes, r.route, func(ctx context.Context, limit, offset int) (paging.Page[T], error) {
		r := r
		setPage(&r, limit, offset)
		var got page[T]
		r.into = &got
		err := c.do(ctx, &r)
		return got.Page, err
	})
	return func(yield func(T, error) bool) {
		for item, err := range p.Items(ctx) {
			if !yield(item, r.named(err)) {
				return
			}
		}
	}
}

// named adds the operation to an error, unless it is an error of the service, which contains it.
func (r request) named(err error) error {
	if _, ok := errors.AsType[*Error](err); err == nil || ok {
		return err
	}
	return fmt.Errorf("%s: %w", r.op, err)
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
