package assets

import (
	"encoding/json"
	"strings"

	"assetferry/internal/assets/paging"
	"assetferry/internal/outbound"
)

// A page is the answer to a request for a page.
type page[T any] struct {
	paging.Page[T]
	fault map[string]json.RawMessage // other fields, if the answer is an error with a success status
}

// UnmarshalJSON decodes a page with or without an envelope.
func (p *page[T]) UnmarshalJSON(data []byte) error {
	return p.stream(outbound.NewMeter(strings.NewReader(string(data)), p.weight()))
}

// folderWeight is the memory of a folder. Commas count nothing, because all nested lists contain
// folders.
var folderWeight = outbound.Weight{Object: 320}

// weight returns the memory per item of a page.
func (p *page[T]) weight() outbound.Weight {
	switch any(p.Items).(type) {
	case []wireAsset, []Asset:
		return outbound.Untyped
	case []Folder:
		return folderWeight
	}
	return outbound.Typed
}

func (p *page[T]) stream(in *outbound.Meter) error {
	if assets, ok := any(&p.Page).(*paging.Page[wireAsset]); ok {
		assets.Parse = new(assetParser).parse
	}
	return p.Decode(in, p.keep)
}

// keep stores fields that may belong to an error with a success status, and ignores all others.
func (p *page[T]) keep(name string, value json.RawMessage) {
	switch key := strings.ToLower(name); key {
	case statusKey, "message", "traceid", "data":
		if p.fault == nil {
			p.fault = map[string]json.RawMessage{}
		}
		if len(value) <= maxFault { // the limit for error bodies
			p.fault[key] = value
		}
	}
}

// asFault returns the error in place of a page; its status is 0 if there is none.
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
