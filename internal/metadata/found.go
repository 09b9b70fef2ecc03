package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// An Source is the source of metadata of an object.
type Source string

// The metadata sources.
const (
	FromTable   Source = "table"   // a file of the user, see [Table]
	FromSidecar Source = "sidecar" // a file beside the object
	FromStorage Source = "storage" // stored with the object, such as user metadata and tags of S3
	FromXMP     Source = "xmp"     // embedded in the content, like the next ones
	FromIPTC    Source = "iptc"
	FromEXIF    Source = "exif"
)

// Precedence returns the default order of metadata sources: text for the migration comes first, then
// metadata stored with the object, then embedded metadata.
func Precedence() []Source {
	return []Source{FromTable, FromSidecar, FromStorage, FromXMP, FromIPTC, FromEXIF}
}

// Fields are the values of a metadata source by field name. Most fields have one value.
type Fields map[string][]string

// Normal returns fields in the form for comparison, without empty ones.
func (f Fields) Normal() Fields {
	var n Fields
	for _, name := range slices.Sorted(maps.Keys(f)) { // in order, so that the result is stable if names become the same
		var values []string
		for _, v := range f[name] {
			if v = normal(v); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if is := normal(name); len(values) > 0 && is != "" && n[is] == nil {
			if n == nil {
				n = Fields{}
			}
			n[is] = values
		}
	}
	return n
}

// Or returns fields, and others for those that are missing.
func (f Fields) Or(others Fields) Fields {
	if len(f) == 0 {
		return others
	}
	or := maps.Clone(others)
	if or == nil {
		or = Fields{}
	}
	maps.Copy(or, f)
	return or
}

// Found is all metadata of an object by source.
type Found map[Source]Fields

// IsZero reports whether there is no metadata.
func (f Found) IsZero() bool { return len(f) == 0 }

// With returns a copy with other fields from one source.
func (f Found) With(from Source, fields Fields) Found {
	with := maps.Clone(f)
	delete(with, from)
	if fields = fields.Normal(); fields != nil {
		if with == nil {
			with = Found{}
		}
		with[from] = fields
	}
	return with
}

// OldURLs returns the old URLs of an object from its table, its sidecar or the source.
func (f Found) OldURLs() []string {
	return slices.Concat(f[FromSidecar]["old_url"], f[FromStorage]["old_url"])
}

// First returns the values of a field from the first source that has it, and the source.
func (f Found) First(name string, precedence []Source) (values []string, from Source) {
	for _, from := range precedence {
		if values := f[from][name]; len(values) > 0 {
			return values, from
		}
	}
	return nil, ""
}

// Encode returns the metadata as JSON, or "" if there is none. Equal metadata has the same text.
func (f Found) Encode() string {
	if f.IsZero() {
		return ""
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // it contains only texts
	}
	return string(text)
}

// EncodeOf returns the part of Encode for one source, or "".
func (f Found) EncodeOf(from Source) string {
	if len(f[from]) == 0 {
		return ""
	}
	text, err := json.Marshal(f[from])
	if err != nil {
		panic(err) // it contains only texts
	}
	return string(text)
}

// DecodeFound parses the result of Encode.
func DecodeFound(text string) (f Found, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	return f, nil
}
