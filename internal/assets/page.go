package assets

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"assetferry/internal/outbound"
)

// A page is the envelope of a list. It may be missing, which is not documented either way.
type page[T any] struct {
	Items      []T
	TotalCount *int
	Limit      int  // the length of a page that has another one behind it
	plain      bool // it came without an envelope
	final      bool // there is none behind it
	read       int  // how many items came, even if the page could not be read to its end

	fault map[string]json.RawMessage // what else there is, if it is an error that comes as a success
}

// UnmarshalJSON reads a page with its envelope or without.
func (p *page[T]) UnmarshalJSON(data []byte) error {
	return p.stream(outbound.NewMeter(strings.NewReader(string(data)), p.weight()))
}

// folderWeight is what a folder takes, and nothing for commas: all lists in it are of folders.
var folderWeight = outbound.Weight{Object: 320}

// weight is what the items of a page take.
func (p *page[T]) weight() outbound.Weight {
	switch any(p.Items).(type) {
	case []wireAsset, []Asset:
		return outbound.Untyped
	case []Folder:
		return folderWeight
	}
	return outbound.Typed
}

// stream reads a page item by item: an answer of any size takes no more than its items, and those
// are measured.
func (p *page[T]) stream(in *outbound.Meter) error {
	d := json.NewDecoder(in)
	begin, err := d.Token()
	switch {
	case err != nil:
		return err
	case begin == json.Delim('['):
		p.plain = true
		err = p.readItems(d, in)
	case begin == json.Delim('{'):
		err = p.readEnvelope(d, in)
	case begin != nil:
		return errNoList
	}
	if err != nil {
		return err
	}
	if _, err = d.Token(); err != io.EOF {
		return errors.New("there is something behind it")
	}
	return nil
}

func (p *page[T]) readItems(d *json.Decoder, in *outbound.Meter) error {
	// In pieces: one slice that grows leaves several times what is in it behind.
	var full [][]T
	piece := []T{}
	for d.More() {
		if len(piece) == cap(piece) {
			full = append(full, piece)
			piece = make([]T, 0, min(max(64, 2*cap(piece)), 1024))
		}
		piece = piece[:len(piece)+1]
		p.read++
		if err := d.Decode(&piece[len(piece)-1]); err != nil {
			return err
		}
		in.Next()
	}
	if p.Items = piece; len(full) > 1 { // the first one is empty
		p.Items = slices.Concat(append(full, piece)...)
	}
	_, err := d.Token()
	return err
}

func (p *page[T]) readEnvelope(d *json.Decoder, in *outbound.Meter) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		switch strings.ToLower(name) { // as encoding/json compares names
		case "items":
			err = p.readItemsOrNull(d, in)
		case "totalcount":
			err = d.Decode(&p.TotalCount)
		case "limit":
			err = d.Decode(&p.Limit)
		default:
			err = p.keep(name, d)
		}
		if err != nil {
			return err
		}
		in.Next()
	}
	_, err := d.Token()
	return err
}

func (p *page[T]) readItemsOrNull(d *json.Decoder, in *outbound.Meter) error {
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

// keep notes what may be of an error that comes as a success, and passes by all else.
func (p *page[T]) keep(name string, d *json.Decoder) error {
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	switch strings.ToLower(name) {
	case statusKey, "message", "traceid", "data":
		if p.fault == nil {
			p.fault = map[string]json.RawMessage{}
		}
		if len(value) <= maxFault { // as in an error that comes as one
			p.fault[strings.ToLower(name)] = value
		}
	}
	return nil
}

var errNoList = errors.New("it is not a list")

// asFault is the error that came in the place of a page; its status is 0 if none did.
func (p *page[T]) asFault() fault {
	if p.fault == nil {
		return fault{}
	}
	text, err := json.Marshal(p.fault)
	if err != nil {
		return fault{}
	}
	return parseFault(text)
}

// isWhole reports whether a page holds all from the offset on, of a route that need not page:
// then it may say neither how many there are nor how long its pages are.
func (p *page[T]) isWhole(offset int) bool {
	switch n := len(p.Items); {
	case p.TotalCount != nil:
		return offset+n >= *p.TotalCount
	case p.Limit > 0:
		return n < p.Limit
	}
	return offset == 0
}

func (p *page[T]) check() error {
	if p.Items == nil && p.TotalCount == nil {
		return errors.New("it is not a list: no items, no totalCount")
	}
	return nil
}
