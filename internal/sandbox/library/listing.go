package library

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assetferry/internal/sorting"
)

// perPage is the maximum of entries on a page.
const perPage = 60

// A listing selects a page of a list and its form. The URL contains all of it, so that pages
// can be linked.
type listing struct {
	path  string
	fixed url.Values // other parameters of the URL
	Order Order
	first Order // the default order
	Table bool  // table instead of tiles
	Page  int
	Total int
}

// listingOf parses the URL. Invalid values are ignored.
func listingOf(r *http.Request, first Order, keep ...string) *listing {
	q := r.URL.Query()
	l := &listing{path: r.URL.EscapedPath(), fixed: make(url.Values), Order: first, first: first, Page: 1}
	for _, name := range keep {
		if v := q.Get(name); v != "" {
			l.fixed.Set(name, v)
		}
	}
	if f := Field(q.Get("sort")); slices.Contains([]Field{ByName, ByUploaded, BySize}, f) {
		l.Order = Order{By: f, Descending: q.Get("order") == "desc"}
	}
	l.Table = q.Get("view") == "table"
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 && n < 1<<30 {
		l.Page = n
	}
	return l
}

func (l *listing) span() Span { return Span{Offset: (l.Page - 1) * perPage, Limit: perPage} }

// Pages returns the number of pages.
func (l *listing) Pages() int { return max(1, (l.Total+perPage-1)/perPage) }

// From returns the number of the first entry on the page, from 1.
func (l *listing) From() int { return min(l.Total, (l.Page-1)*perPage+1) }

// To returns the number of the last entry on the page.
func (l *listing) To() int { return min(l.Total, l.Page*perPage) }

// read loads the entries of the page. If the list has become shorter, it loads the last page.
func (l *listing) read(find func(Span) (total int, err error)) (err error) {
	if l.Total, err = find(l.span()); err != nil || l.Page <= l.Pages() {
		return err
	}
	l.Page = l.Pages()
	l.Total, err = find(l.span())
	return err
}

// list calls read for a single list.
func list[T any](l *listing, find func(Span) ([]T, int, error)) (found []T, err error) {
	err = l.read(func(s Span) (total int, err error) {
		found, total, err = find(s)
		return total, err
	})
	return found, err
}

// URL returns the URL of another page.
func (l *listing) URL(page int) string { return l.url(l.Order, l.Table, page) }

// First, Previous, Next and Last return URLs, or "" for the current page.
func (l *listing) First() string    { return l.unless(l.Page <= 1, 1) }
func (l *listing) Previous() string { return l.unless(l.Page <= 1, l.Page-1) }
func (l *listing) Next() string     { return l.unless(l.Page >= l.Pages(), l.Page+1) }
func (l *listing) Last() string     { return l.unless(l.Page >= l.Pages(), l.Pages()) }

func (l *listing) unless(not bool, page int) string {
	if not {
		return ""
	}
	return l.URL(page)
}

// Tiles and AsTable return the URLs of the two forms.
func (l *listing) Tiles() string   { return l.url(l.Order, false, l.Page) }
func (l *listing) AsTable() string { return l.url(l.Order, true, l.Page) }

// Everywhere returns the URL of the same search in all categories.
func (l *listing) Everywhere() string {
	q := l.query(l.Order, l.Table, 1)
	q.Del("category")
	return l.path + "?" + q.Encode()
}

// Path returns the target of the page form.
func (l *listing) Path() string { return l.path }

// Fields returns the hidden fields of the page form.
func (l *listing) Fields() []Attribute {
	var all []Attribute
	q := l.query(l.Order, l.Table, 1)
	for name := range q {
		all = append(all, Attribute{name, q.Get(name)})
	}
	sorting.By(all, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A choice is an available sort order.
type choice struct {
	Name, URL  string
	Current    bool
	Descending bool
}

// Choices returns the available sort orders. The link of the current one reverses it. Names
// start ascending; dates and sizes start descending.
func (l *listing) Choices() []choice {
	var all []choice
	for _, f := range []struct {
		field Field
		name  string
	}{{ByName, "Name"}, {ByUploaded, "Upload date"}, {BySize, "Size"}} {
		current := l.Order.By == f.field
		descending := f.field != ByName
		if current {
			descending = !l.Order.Descending
		}
		all = append(all, choice{f.name, l.url(Order{f.field, descending}, l.Table, 1), current, l.Order.Descending})
	}
	return all
}

func (l *listing) url(o Order, table bool, page int) string {
	q := l.query(o, table, page)
	if len(q) == 0 {
		return l.path
	}
	return l.path + "?" + q.Encode()
}

// query returns the parameters that differ from the defaults.
func (l *listing) query(o Order, table bool, page int) url.Values {
	q := make(url.Values)
	for name := range l.fixed {
		q.Set(name, l.fixed.Get(name))
	}
	if o != l.first {
		q.Set("sort", string(o.By))
		q.Set("order", map[bool]string{false: "asc", true: "desc"}[o.Descending])
	}
	if table {
		q.Set("view", "table")
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return q
}
