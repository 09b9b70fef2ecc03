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

// A Page says where a list is read, and how. The zero Page begins at its beginning.
type Page struct {
	Cursor string // of a page, as OnPage got it; the first page if empty
	Limit  int    // items on a page; 0: as many as the service likes. That there is a limit of 100 is a guess
	// Backward reads towards the beginning: the page at the cursor and those before it, each
	// from its last item to its first.
	Backward bool
	// OnPage is told the cursors of the pages behind and before each page, before its items
	// come; one that is empty says that there is no such page. It may be nil.
	OnPage func(next, previous string)
}

// A pageOf items is an answer to a listing request. Which lists come in pages is documented for
// most; for some, such as messages, types of the editor name a plain array. So each is read in
// either form.
type pageOf[T any] struct {
	Items          []T
	NextCursor     string
	PreviousCursor string
	text           [sha256.Size]byte // the checksum of the text of the items
}

// hashedItems are read without a copy of their text.
type hashedItems[T any] struct {
	items []T
	text  [sha256.Size]byte
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *hashedItems[T]) UnmarshalJSON(data []byte) error {
	h.text = sha256.Sum256(data)
	return json.Unmarshal(data, &h.items)
}

// UnmarshalJSON reads a page, or an array, which is all that there is.
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
		return errors.New("it is not a list: no items")
	}
	return nil
}

// list reads a list page by page. The request is that of a page, without cursor and limit.
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

// maxEmptyPages is how many pages in a row may hold nothing, before we take it that there is no
// end.
const maxEmptyPages = 100

// walk goes from page to page. A cursor that comes again is an error: the list would never end.
// That is found out in Brent's way, without keeping all of them. Cursors that are ever new lead
// nowhere either if what they lead to stays the same. Op is what is done, for these errors.
func walk[T any](op string, pages []Page, fetch func(url.Values) (pageOf[T], error)) iter.Seq2[T, error] {
	var p Page
	if len(pages) > 0 {
		p = pages[0]
	}
	return func(yield func(T, error) bool) {
		var none T
		mark, turn := p.Cursor, 1
		var last, plain [sha256.Size]byte
		empty := 0
		for cursor, n := p.Cursor, 0; ; n++ {
			got, err := fetch(p.query(cursor))
			if err != nil {
				yield(none, err)
				return
			}
			if empty++; len(got.Items) > 0 {
				empty = 0
			}
			if empty == maxEmptyPages || empty == 0 && got.text != plain && got.text == last {
				yield(none, errors.New(op+": list does not advance: a page comes again"))
				return
			}
			last = got.text
			if p.OnPage != nil {
				p.OnPage(got.NextCursor, got.PreviousCursor)
			}
			if cursor = got.NextCursor; p.Backward {
				cursor = got.PreviousCursor
				slices.Reverse(got.Items)
			}
			for _, item := range got.Items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case cursor == "":
				return
			case cursor == mark:
				yield(none, errors.New(op+": list does not advance: a cursor comes again"))
				return
			case n == turn:
				mark, turn = cursor, 2*turn
			}
		}
	}
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
