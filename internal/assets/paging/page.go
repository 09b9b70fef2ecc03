// Package paging reads lists page by page, by limit and offset. It handles undocumented behaviour:
// lists that change while they are read, pages with or without a total or an envelope, and services
// that refuse or shorten large pages.
package paging

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"assetferry/internal/jsonscan"
	"assetferry/internal/outbound"
)

// A Page is one page of a list. It is not documented whether pages have an envelope.
type Page[T any] struct {
	Items      []T
	TotalCount *int
	Limit      int  // length of a page that another page follows
	Final      bool // no page follows
	// Wanted reports whether an item is needed, by its JSON, which is valid until the function
	// returns. Other items are counted, but not decoded. Nil means that all are needed.
	Wanted func(item []byte) bool
	// Parse reads an item of the usual form into a zero value, faster than encoding/json and with
	// the same result. If it returns false, encoding/json reads that item and the rest of the page.
	// It may be nil.
	Parse func(*jsonscan.Scanner, *T) bool
	plain bool // it had no envelope
	read  int  // number of items read, even if the page is incomplete
}

// Read returns how many items the answer had, with those that are not wanted.
func (p *Page[T]) Read() int { return p.read }

// Decode decodes a page with or without an envelope, item by item: its memory is that of the items,
// which is measured. other receives the other fields of the envelope; it may be nil.
func (p *Page[T]) Decode(in *outbound.Meter, other func(key string, value json.RawMessage)) error {
	d := json.NewDecoder(in)
	p.read = 0 // of an earlier attempt
	begin, err := d.Token()
	switch {
	case err != nil:
		return err
	case begin == json.Delim('['):
		p.plain = true
		err = p.readItems(d, in)
	case begin == json.Delim('{'):
		err = p.readEnvelope(d, in, other)
	case begin != nil:
		return errNoList
	}
	if err != nil {
		return err
	}
	if _, err = d.Token(); err != io.EOF {
		return errors.New("data follows the end of the list")
	}
	return nil
}

func (p *Page[T]) readItems(d *json.Decoder, in *outbound.Meter) error {
	all := pieces[T]{last: []T{}}
	if p.Parse != nil {
		if err := p.parseItems(d, in, &all); err != nil {
			return err
		}
	}
	var text json.RawMessage // reused
	for d.More() {
		p.read++
		if err := p.readItem(d, &text, &all); err != nil {
			return err
		}
		in.Next()
	}
	p.Items = all.joined()
	_, err := d.Token()
	return err
}

func (p *Page[T]) readItem(d *json.Decoder, text *json.RawMessage, all *pieces[T]) error {
	if p.Wanted == nil {
		return d.Decode(all.next())
	}
	if err := d.Decode(text); err != nil || !p.Wanted(*text) {
		return err
	}
	return json.Unmarshal(*text, all.next())
}

// pieces collect items in pieces, because a growing slice leaves several times its size to the
// garbage collector.
type pieces[T any] struct {
	full [][]T
	last []T
}

// next adds an item and returns it.
func (p *pieces[T]) next() *T {
	if len(p.last) == cap(p.last) {
		p.full = append(p.full, p.last)
		p.last = make([]T, 0, min(max(64, 2*cap(p.last)), 1024))
	}
	p.last = p.last[:len(p.last)+1]
	return &p.last[len(p.last)-1]
}

// drop removes the item that was added last.
func (p *pieces[T]) drop() {
	n := len(p.last) - 1
	clear(p.last[n:])
	p.last = p.last[:n]
}

func (p *pieces[T]) joined() []T {
	if len(p.full) <= 1 { // the first piece is empty
		return p.last
	}
	return slices.Concat(append(p.full, p.last)...)
}

func (p *Page[T]) readEnvelope(d *json.Decoder, in *outbound.Meter, other func(string, json.RawMessage)) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		switch strings.ToLower(name) { // encoding/json ignores case, too
		case "items":
			err = p.readItemsOrNull(d, in)
		case "totalcount":
			err = d.Decode(&p.TotalCount)
		case "limit":
			err = d.Decode(&p.Limit)
		default:
			var value json.RawMessage
			if err = d.Decode(&value); err == nil && other != nil {
				other(name, value)
			}
		}
		if err != nil {
			return err
		}
		in.Next()
	}
	_, err := d.Token()
	return err
}

func (p *Page[T]) readItemsOrNull(d *json.Decoder, in *outbound.Meter) error {
	switch begin, err := d.Token(); {
	case err != nil:
		return err
	case begin == json.Delim('['):
		return p.readItems(d, in)
	case begin != nil:
		return errNoList
	}
	return nil
}

var errNoList = errors.New("not a list")

// IsWhole reports whether a page contains all items from the offset on, on a route that may not be
// paged and then has neither a total nor a limit.
func (p *Page[T]) IsWhole(offset int) bool {
	switch n := len(p.Items); {
	case p.TotalCount != nil:
		return offset+n >= *p.TotalCount
	case p.Limit > 0:
		return n < p.Limit
	}
	return offset == 0
}

// Check returns an error for an answer that is not a page of a list.
func (p *Page[T]) Check() error {
	if p.Items == nil && p.TotalCount == nil {
		return errors.New("neither items nor totalCount")
	}
	return nil
}
