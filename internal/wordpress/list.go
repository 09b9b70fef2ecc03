package wordpress

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// pageSize is the number of items in a page; the API allows no more.
const pageSize = 100

// List reads all items of a collection, such as /wp/v2/media, by ascending ID. At most one error is
// yielded, as the last value.
//
// The API can only be asked for the items from an offset on. If items are deleted meanwhile, others
// move before the offset. So each page begins with the last item of the page before, or else is read
// again from further ahead: no item is missing that exists during the whole listing, and none is
// yielded twice. New items have the highest IDs.
func (c *Client) List(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		l := &listing{client: c, path: path, query: query, size: pageSize}
		if err := l.run(ctx, yield); err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// errStop means that the consumer ended the listing.
var errStop = errors.New("the loop has ended")

type listing struct {
	client *Client
	path   string
	query  url.Values
	size   int
	last   int64 // the ID of the last item
	total  int   // in the last page
	reread int   // the highest offset before which earlier pages were read again
	idle   int   // requests since the last new item
}

// maxIdle is the maximum number of requests in a row without a new item. Pages of items that the account
// may not see are empty, but a valid list has few of them.
const maxIdle = 1000

// A page is a part of a collection.
type page struct {
	items []json.RawMessage
	ids   []int64 // nil if the items have no numbers; then it is the only page
	total int     // of the collection; -1 if the API does not divide it into pages
}

func (l *listing) run(ctx context.Context, yield func(json.RawMessage, error) bool) error {
	for offset := 0; ; {
		p, at, err := l.next(ctx, offset)
		if err != nil {
			return err
		}
		for n, item := range p.items {
			if p.ids != nil && p.ids[n] <= l.last {
				continue
			}
			if p.ids != nil {
				l.last = p.ids[n]
			}
			l.idle = 0
			if !yield(item, nil) {
				return errStop
			}
		}
		l.total = p.total
		if offset = at + l.size - 1; p.ids == nil || p.total < 0 || at+l.size >= p.total {
			return nil
		}
	}
}

// next reads the page at an offset. If items before it were deleted, it reads from further ahead,
// and returns that offset.
func (l *listing) next(ctx context.Context, offset int) (page, int, error) {
	for back := 1; ; back *= 8 {
		p, err := l.read(ctx, offset)
		if _, large := errors.AsType[*outbound.TooLargeError](err); large && l.size > 2 {
			l.size = max(l.size/8, 2)
			back = 1
			continue
		}
		if err != nil || l.follows(p, offset) {
			return p, offset, err
		}
		l.reread = max(l.reread, offset)
		offset = max(offset-back, 0)
	}
}

// follows reports whether no item is missing between the last one and a page. Items that the account
// may not see take a place, but are not in a page. So a page that does not begin with a known item is
// accepted when earlier pages were read again, or when it is empty, if the collection has the size
// that it had.
func (l *listing) follows(p page, offset int) bool {
	switch {
	case offset == 0, p.ids == nil && len(p.items) > 0, len(p.ids) > 0 && p.ids[0] <= l.last:
		return true
	}
	return p.total == l.total && (len(p.ids) == 0 || offset <= l.reread)
}

func (l *listing) read(ctx context.Context, offset int) (page, error) {
	query := maps.Clone(l.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("orderby", "id")
	query.Set("order", "asc")
	query.Set("per_page", strconv.Itoa(l.size))
	if offset > 0 {
		query.Set("offset", strconv.Itoa(offset))
	}
	root, err := l.client.find(ctx)
	if err != nil {
		return page{}, err
	}
	a, err := l.client.ask(ctx, http.MethodGet, routeURL(root, l.path, query), nil)
	if err != nil {
		return page{}, err
	}
	if l.idle++; l.idle > maxIdle {
		return page{}, l.client.fail(a, &remote.Failure{Err: errors.New("the list does not advance"), Kind: retry.Permanent}, "run the same command again; if this remains, deactivate the plugin that changes the list")
	}
	p := page{total: -1}
	if err := l.client.decode(a, &p.items); err != nil {
		return page{}, err
	}
	if p.total, err = strconv.Atoi(a.header.Get("X-WP-Total")); err != nil {
		p.total = -1
	}
	return p, l.number(a, &p)
}

// number sets the IDs of a page. Templates have texts as IDs, and come in one page.
func (l *listing) number(a *answer, p *page) error {
	ids := make([]int64, 0, len(p.items))
	for _, item := range p.items {
		var got struct {
			ID *int64 `json:"id"`
		}
		if json.Unmarshal(item, &got) != nil || got.ID == nil {
			if p.total < 0 || p.total <= len(p.items) {
				return nil
			}
			return l.client.fail(a, &remote.Failure{Err: errors.New("an item of the list has no ID"), Kind: retry.Permanent}, hintOther)
		}
		if n := len(ids); n > 0 && *got.ID <= ids[n-1] {
			return l.client.fail(a, &remote.Failure{Err: errors.New("the list is not in the order of the IDs that was requested; a plugin may change it"), Kind: retry.Permanent},
				"deactivate the plugin that sorts the list, or try another one")
		}
		ids = append(ids, *got.ID)
	}
	p.ids = ids
	return nil
}
