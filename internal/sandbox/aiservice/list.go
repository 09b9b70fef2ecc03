package aiservice

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The default and the maximum limit; guesses.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// A listing is a paged list.
type listing struct {
	columns    string
	from       string // FROM and WHERE
	args       []any
	key        string // sort column; a whole number or a text
	seq        string // column that distinguishes equal keys; a whole number
	descending bool
}

// A page is a part of a list. A cursor is null if there are no more items in its direction.
type page[T any] struct {
	Items          []T     `json:"items"`
	NextCursor     *string `json:"nextCursor"`
	PreviousCursor *string `json:"previousCursor"`
	plain          bool    // an array of the complete list
}

// MarshalJSON encodes a page, or an array.
func (p page[T]) MarshalJSON() ([]byte, error) {
	if p.plain {
		return json.Marshal(p.Items)
	}
	type paged page[T]
	return json.Marshal(paged(p))
}

// A cursor is a position in a list with a direction.
type cursor struct {
	List     uint64 `json:"l"` // hash of the list, with its filters and its order
	Key      any    `json:"k"`
	Seq      int64  `json:"s"`
	Backward bool   `json:"b,omitempty"`
}

func (c cursor) text() *string {
	b, _ := json.Marshal(c) // numbers and texts can always be encoded
	s := base64.RawURLEncoding.EncodeToString(b)
	return &s
}

// mark returns a hash of the list: a cursor of another list is refused.
func (l listing) mark() uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, l.from, l.args, l.key, l.descending)
	return h.Sum64() >> 12 // the number of bits that a JSON number stores exactly
}

// list responds with the page that the query selects.
func list[T any](c *call, l listing, read func(scan) (T, error)) error {
	var p page[T]
	err := c.server.store.do(func(tx *sql.Tx) (err error) {
		p, err = pageOf(tx, c, l, read)
		return err
	})
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, p)
}

// pageOf reads the page that the query selects.
func pageOf[T any](tx *sql.Tx, c *call, l listing, read func(scan) (T, error)) (page[T], error) {
	if c.isPlain() {
		p, _, _, err := stretch(tx, l, nil, math.MaxInt32, read)
		p.plain = true
		return p, err
	}
	limit, at, err := c.position(l)
	if err != nil {
		return page[T]{}, err
	}
	p, places, more, err := stretch(tx, l, at, limit, read)
	if err != nil || len(places) == 0 && at == nil {
		return p, err
	}
	first, last := cursor{}, cursor{}
	if len(places) > 0 {
		first, last = places[0], places[len(places)-1]
	} else {
		first, last = *at, *at
	}
	backward := at != nil && at.Backward
	before, after := more, more
	if !backward {
		before, err = l.beyond(tx, at, first, true)
	} else {
		after, err = l.beyond(tx, at, last, false)
	}
	if before {
		first.Backward = true
		p.PreviousCursor = first.text()
	}
	if after {
		last.Backward = false
		p.NextCursor = last.text()
	}
	return p, err
}

// stretch reads up to limit rows from a position, with their positions, and reports whether there
// are more.
func stretch[T any](tx *sql.Tx, l listing, at *cursor, limit int, read func(scan) (T, error)) (p page[T], places []cursor, more bool, err error) {
	p.Items = []T{}
	query, args := l.query(l.key+", "+l.seq+", "+l.columns, at, limit+1)
	err = rows(tx, query, args, func(s scan) error {
		place := cursor{List: l.mark()}
		item, err := read(func(into ...any) error { return s(append([]any{&place.Key, &place.Seq}, into...)...) })
		p.Items, places = append(p.Items, item), append(places, place)
		return err
	})
	if more = len(places) > limit; more {
		p.Items, places = p.Items[:limit], places[:limit]
	}
	if at != nil && at.Backward {
		slices.Reverse(p.Items)
		slices.Reverse(places)
	}
	return p, places, more, err
}

// query returns the SQL for the rows beyond a position.
func (l listing) query(columns string, at *cursor, limit int) (string, []any) {
	descending := l.descending != (at != nil && at.Backward)
	direction, compare := "ASC", ">"
	if descending {
		direction, compare = "DESC", "<"
	}
	text, args := "SELECT "+columns+" "+l.from, slices.Clone(l.args)
	if at != nil {
		text += fmt.Sprintf(" AND (%s, %s) %s (?, ?)", l.key, l.seq, compare)
		args = append(args, at.Key, at.Seq)
	}
	text += fmt.Sprintf(" ORDER BY %s %s, %s %s LIMIT %d", l.key, direction, l.seq, direction, limit)
	return text, args
}

// beyond reports whether there are rows before or after a position. At the beginning of a list
// there are none before it.
func (l listing) beyond(tx *sql.Tx, at *cursor, place cursor, before bool) (found bool, err error) {
	if at == nil {
		return false, nil
	}
	place.Backward = before
	query, args := l.query("1", &place, 1)
	err = tx.QueryRow("SELECT EXISTS ("+query+")", args...).Scan(&found)
	return found, err
}

// position parses limit and cursor from the query.
func (c *call) position(l listing) (size int, at *cursor, err error) {
	size, most := defaultLimit, limit(c.server.options.Profile.LargestPage, maxLimit)
	if text := c.query.Get("limit"); c.query.Has("limit") {
		if size, err = strconv.Atoi(text); err != nil || size < 1 || size > most {
			return 0, nil, malformed("limit", "must be a number from 1 to %d", most)
		}
	}
	if !c.query.Has("cursor") {
		return size, nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(c.query.Get("cursor"))
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(b)))
		err = d.Decode(&at)
	}
	if err != nil || at == nil || at.List != l.mark() || !at.placed() {
		return 0, nil, refuse(http.StatusBadRequest, "invalid-cursor", "The cursor does not belong to this list.")
	}
	return size, at, nil
}

// placed reports whether the key has a type that lists use.
func (c *cursor) placed() bool {
	switch k := c.Key.(type) {
	case float64:
		c.Key = int64(k)
		return true
	case string:
		return true
	}
	return false
}
