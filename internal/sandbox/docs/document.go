package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A document is the part of a description that the page uses.
type document struct {
	Info struct{ Title, Version, Summary, Description string }
	Tags []struct{ Name, Description string }
	// Paths and everything below keep the order of the text.
	Paths      ordered[pathItem]
	Components struct {
		Parameters    ordered[parameter]
		RequestBodies ordered[requestBody]
		Responses     ordered[response]
		Headers       ordered[header]
		Schemas       ordered[schema]
	}
}

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	Tags                 []string
	OperationID          string `json:"operationId"`
	Summary, Description string
	Parameters           []parameter
	RequestBody          requestBody
	Responses            ordered[response]
	Security             *[]map[string][]string
	Scopes               *[]string `json:"x-scopes"` // required scopes, if roles are not sufficient
	Guess                bool      `json:"x-guess"`
}

// A reference refers to a definition in components.
type reference struct {
	Ref string `json:"$ref"`
}

type parameter struct {
	reference
	Name, In, Description string
	Required              bool
	Guess                 bool `json:"x-guess"`
	Schema                schema
}

type requestBody struct {
	reference
	Content ordered[media]
}

type response struct {
	reference
	Description string
	Headers     ordered[header]
	Content     ordered[media]
}

type header struct {
	reference
	Description string
	Required    bool
	Schema      schema
}

type media struct {
	Schema schema
	Events ordered[media] `json:"x-events"` // of a stream, by name
}

// operations returns the operations of a path by method.
func (p pathItem) operations() ordered[operation] {
	var all ordered[operation]
	for _, m := range []struct {
		method string
		op     *operation
	}{{"GET", p.Get}, {"POST", p.Post}, {"PUT", p.Put}, {"PATCH", p.Patch}, {"DELETE", p.Delete}} {
		if m.op != nil {
			all = append(all, member[operation]{m.method, *m.op})
		}
	}
	return all
}

func (d *document) parameter(p parameter) parameter {
	return resolve(d.Components.Parameters, p.Ref, p)
}

func (d *document) body(b requestBody) requestBody {
	return resolve(d.Components.RequestBodies, b.Ref, b)
}

func (d *document) response(r response) response {
	return resolve(d.Components.Responses, r.Ref, r)
}

func (d *document) header(h header) header { return resolve(d.Components.Headers, h.Ref, h) }

// resolve returns the referenced definition, or itself without a reference.
func resolve[T any](among ordered[T], ref string, itself T) T {
	for _, m := range among {
		if ref != "" && m.key == last(ref) {
			return m.value
		}
	}
	return itself
}

// An ordered is a JSON object that keeps its order.
type ordered[T any] []member[T]

type member[T any] struct {
	key   string
	value T
}

// UnmarshalJSON decodes an object member by member.
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("expected an object, found %.20s", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		m := member[T]{key: key.(string)}
		if err := d.Decode(&m.value); err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		*o = append(*o, m)
	}
	return nil
}
