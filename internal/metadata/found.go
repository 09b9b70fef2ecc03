package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// An Source is where something that describes an object was found.
type Source string

// The origins.
const (
	FromTable   Source = "table"   // a file that the user gives, see [Table]
	FromSidecar Source = "sidecar" // a file beside the object
	FromSource  Source = "source"  // what the source keeps with the object, such as the user metadata and tags of S3
	FromXMP     Source = "xmp"     // embedded in the content, as the next ones
	FromIPTC    Source = "iptc"
	FromEXIF    Source = "exif"
)

// Precedence is the order in which origins overrule each other where the user says nothing:
// what somebody wrote for the migration comes before what is kept with the object, and that
// before what came with the content.
func Precedence() []Source {
	return []Source{FromTable, FromSidecar, FromSource, FromXMP, FromIPTC, FromEXIF}
}

// Fields are what an origin says of an object: values by the name of a field. Most fields
// have one value.
type Fields map[string][]string

// Normal returns fields in the form in which they are compared, without those that say
// nothing.
func (f Fields) Normal() Fields {
	var n Fields
	for _, name := range slices.Sorted(maps.Keys(f)) { // of names that become the same, always the first one wins
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

// Or returns fields, and from others those that they say nothing of.
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

// Found is all that was found of an object, by where.
type Found map[Source]Fields

// IsZero reports whether nothing was found.
func (f Found) IsZero() bool { return len(f) == 0 }

// With returns what was found, but from one origin something else.
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

// Addresses are the old addresses of an object that somebody wrote down beside it, or that
// the source keeps with it.
func (f Found) Addresses() []string {
	return slices.Concat(f[FromSidecar]["address"], f[FromSource]["address"])
}

// First returns the values of a field, and where they are from: the first of the origins
// that says anything of it.
func (f Found) First(name string, precedence []Source) (values []string, from Source) {
	for _, from := range precedence {
		if values := f[from][name]; len(values) > 0 {
			return values, from
		}
	}
	return nil, ""
}

// Encode returns what was found as JSON, empty if that is nothing. The same is always the
// same text.
func (f Found) Encode() string {
	if f.IsZero() {
		return ""
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // there is nothing in it but text
	}
	return string(text)
}

// EncodeOf returns what was found in one place as it is within what Encode gives, empty if
// that is nothing.
func (f Found) EncodeOf(from Source) string {
	if len(f[from]) == 0 {
		return ""
	}
	text, err := json.Marshal(f[from])
	if err != nil {
		panic(err) // there is nothing in it but text
	}
	return string(text)
}

// DecodeFound reads what Encode gave.
func DecodeFound(text string) (f Found, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return nil, fmt.Errorf("read what was found: %w", err)
	}
	return f, nil
}
