package ai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Page selects where and how a list is read. The zero Page starts at the beginning.
type Page struct {
	Cursor string // cursor of a page, from OnPage; empty: the first page
	Limit  int    // items per page; 0: default of the service. The maximum of 100 is a guess
	// Backward reads towards the beginning: the page at the cursor and those before it, each from
	// its last item to its first.
	Backward bool
	// OnPage is called before the items of each page, with the cursors of the next and the previous
	// page; an empty one means that there is no such page. It may be nil.
	OnPage func(next, previous string)
}

// A pageOf items is an answer to a list request. The documentation says for most lists whether they
// have pages; for some, such as messages, types of the editor have a plain array. Therefore both
// forms are accepted.
type pageOf[T any] struct {
	Items          []T
	NextCursor     string
	PreviousCursor string
	text           [sha256.Size]byte // checksum of the JSON of the items
}

// hashedItems are decoded without a copy of their text.
type hashedItems[T any] struct {
	items []T
	text  [sha256.Size]byte
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *hashedItems[T]) UnmarshalJSON(data []byte) error {
	h.text = sha256.Sum256(data)
	return json.Unmarshal(data, &h.items)
}

// UnmarshalJSON decodes a page, or an array, which is the complete list.
func (p *pageOf[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, &p.Items)
	}
	var w struct {
		Items          hashedItems[T] `json:"items"`
		NextCursor     string         `json:"nextCursor"`
		PreviousCursor string         `json:"previousCursor"`
	}
	err := json.Unmarshal(data, &w)
	p.Items, p.NextCursor, p.PreviousCursor, p.text = w.Items.items, w.NextCursor, w.PreviousCursor, w.Items.text
	return err
}

func (p *pageOf[T]) check() error {
	if p.Items == nil {
		return errors.New("no list of items")
	}
	return nil
}

// list reads a list page by page. The request has no cursor and no limit.
func list[T any](ctx context.Context, c *Client, r request, pages []Page) iter.Seq2[T, error] {
	return walk(strings.TrimSpace(r.op+" "+r.subject), pages, func(query url.Values) (got pageOf[T], err error) {
		asked := r
		asked.query = maps.Clone(r.query)
		if asked.query == nil {
			asked.query = url.Values{}
		}
		maps.Copy(asked.query, query)
		err = c.ask(ctx, &asked, &got)
		return got, err
	})
}

// maxEmptyPages is the number of consecutive empty pages after which the list is assumed to be
// endless.
const maxEmptyPages = 100

// walk reads page after page while the list advances. op is the operation, for errors.
func walk[T any](op string, pages []Page, fetch func(url.Values) (pageOf[T], error)) iter.Seq2[T, error] {
	var p Page
	if len(pages) > 0 {
		p = pages[0]
	}
	return func(yield func(T, error) bool) {
		var none T
		r := pageReader[T]{op: op, page: p, fetch: fetch, cursor: p.Cursor, mark: p.Cursor, nextMark: 1}
		for {
			items, err := r.read()
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if r.cursor == "" {
				return
			}
			if err := r.advance(); err != nil {
				yield(none, err)
				return
			}
		}
	}
}

// A pageReader reads the pages of a finite list. A repeated cursor is an error, because the list
// would never end. Brent's algorithm detects it without storing all cursors. A repeated page is an
// error even if the cursors are new.
type pageReader[T any] struct {
	op     string
	page   Page
	fetch  func(url.Values) (pageOf[T], error)
	cursor string // cursor of the next page; empty after the last one

	mark        string // a cursor that must not be repeated
	n, nextMark int    // number of pages, and the number at which the mark moves
	last        [sha256.Size]byte
	empty       int // consecutive empty pages
}

func (r *pageReader[T]) read() ([]T, error) {
	got, err := r.fetch(r.page.query(r.cursor))
	if err != nil {
		return nil, err
	}
	if r.empty++; len(got.Items) > 0 {
		r.empty = 0
	}
	var plain [sha256.Size]byte
	if r.empty == maxEmptyPages || r.empty == 0 && got.text != plain && got.text == r.last {
		return nil, errors.New(r.op + ": the list returned the same page twice")
	}
	r.last = got.text
	if r.page.OnPage != nil {
		r.page.OnPage(got.NextCursor, got.PreviousCursor)
	}
	if r.cursor = got.NextCursor; r.page.Backward {
		r.cursor = got.PreviousCursor
		slices.Reverse(got.Items)
	}
	return got.Items, nil
}

func (r *pageReader[T]) advance() error {
	if r.cursor == r.mark {
		return errors.New(r.op + ": the list returned the same cursor twice")
	}
	if r.n == r.nextMark {
		r.mark, r.nextMark = r.cursor, 2*r.nextMark
	}
	r.n++
	return nil
}

func (p Page) query(cursor string) url.Values {
	query := url.Values{}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if p.Limit > 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	return query
}
