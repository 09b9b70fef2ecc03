package assets

import (
	"encoding/json"
	"strings"

	"assetferry/internal/assets/paging"
	"assetferry/internal/outbound"
)

// A page is the answer to a request for one.
type page[T any] struct {
	paging.Page[T]
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

func (p *page[T]) stream(in *outbound.Meter) error { return p.Decode(in, p.keep) }

// keep notes what may be of an error that comes as a success, and passes by all else.
func (p *page[T]) keep(name string, value json.RawMessage) {
	switch key := strings.ToLower(name); key {
	case statusKey, "message", "traceid", "data":
		if p.fault == nil {
			p.fault = map[string]json.RawMessage{}
		}
		if len(value) <= maxFault { // as in an error that comes as one
			p.fault[key] = value
		}
	}
}

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

func (p *page[T]) check() error { return p.Check() }
