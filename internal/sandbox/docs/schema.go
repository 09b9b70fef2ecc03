package docs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A schema is the supported part of JSON Schema.
type schema struct {
	reference
	Type                 kinds
	Description          string
	Format, Pattern      string
	Enum, Examples       []any
	Const, Default       any
	Minimum, Maximum     *json.Number
	MinLength, MaxLength *json.Number
	MinItems, MaxItems   *json.Number
	MinProperties        *json.Number
	MaxProperties        *json.Number
	Items                *schema
	Properties           ordered[schema]
	PatternProperties    ordered[schema]
	AdditionalProperties open
	Required             []string
	OneOf, AnyOf         []schema
	Not                  *schema
	Guess                bool `json:"x-guess"`
}

// kinds are the types of a value: in JSON Schema a string or a list.
type kinds []string

// UnmarshalJSON decodes both forms.
func (k *kinds) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(k))
	}
	*k = kinds{""}
	return json.Unmarshal(text, &(*k)[0])
}

// An open is the schema of additional members; false means none.
type open struct{ *schema }

// UnmarshalJSON decodes a schema, true or false.
func (o *open) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	o.schema = &schema{}
	if string(text) == "true" {
		return nil
	}
	return json.Unmarshal(text, o.schema)
}

// A shape is a schema for display: a summary, and its members.
type shape struct {
	Name        string
	Type        string // for people
	Ref         string // name of the referenced schema, or of that of the items
	Rules       []string
	Description string
	Guess       bool
	Fields      []field
}

// A field is a member of an object, a parameter or a header.
type field struct {
	shape
	In       string // of a parameter
	Required bool
}

func (d *document) field(name string, s schema, required bool) field {
	return field{shape: d.shape(name, s), Required: required}
}

// shape converts a schema. References become links and are not expanded.
func (d *document) shape(name string, s schema) shape {
	v := shape{Name: name, Ref: last(s.Ref), Type: s.words(), Description: s.Description, Guess: s.Guess, Rules: s.rules()}
	inner := s
	for inner.Items != nil {
		inner = *inner.Items
		v.Ref = last(inner.Ref)
		v.Rules = append(v.Rules, inner.rules()...)
		v.Description = joined(v.Description, inner.Description)
	}
	for _, p := range inner.Properties {
		v.Fields = append(v.Fields, d.field(p.key, p.value, slices.Contains(inner.Required, p.key)))
	}
	for _, p := range inner.PatternProperties {
		v.Fields = append(v.Fields, d.field("matching "+p.key, p.value, false))
	}
	if rest := inner.AdditionalProperties; rest.schema != nil {
		v.Fields = append(v.Fields, d.field("any other", *rest.schema, false))
	}
	return v
}

// words returns a type for people. It is "" for a reference, because a link follows.
func (s schema) words() string {
	switch {
	case s.Items != nil && s.Items.Ref != "":
		return "array of"
	case s.Items != nil:
		return "array of " + s.Items.words()
	case s.Ref != "":
		return ""
	}
	text := strings.Join(s.Type, " or ")
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	return text
}

// rules returns the constraints of a value for people.
func (s schema) rules() []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		add("one of %s", list(s.Enum))
	}
	if s.Const != nil {
		add("always %v", s.Const)
	}
	span(&all, s.Minimum, s.Maximum, "")
	span(&all, s.MinLength, s.MaxLength, " characters")
	span(&all, s.MinItems, s.MaxItems, " items")
	span(&all, s.MinProperties, s.MaxProperties, " properties")
	if s.Pattern != "" {
		add("pattern %s", s.Pattern)
	}
	if s.Default != nil {
		add("default %v", s.Default)
	}
	if len(s.Examples) > 0 {
		add("example: %s", list(s.Examples))
	}
	if names := required(s.OneOf); names != "" {
		add("exactly one of %s", names)
	}
	if names := required(s.AnyOf); names != "" {
		add("at least one of %s", names)
	}
	if s.Not != nil && len(s.Not.Required) > 0 {
		add("not together: %s", strings.Join(s.Not.Required, ", "))
	}
	return all
}

// span adds a range of numbers.
func span(all *[]string, low, high *json.Number, of string) {
	switch {
	case low != nil && high != nil:
		*all = append(*all, fmt.Sprintf("%s to %s%s", *low, *high, of))
	case low != nil:
		*all = append(*all, fmt.Sprintf("at least %s%s", *low, of))
	case high != nil:
		*all = append(*all, fmt.Sprintf("at most %s%s", *high, of))
	}
}

// required returns the members that alternatives require.
func required(alternatives []schema) string {
	var names []string
	for _, s := range alternatives {
		names = append(names, s.Required...)
	}
	return strings.Join(names, ", ")
}

func list(values []any) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ", ")
}
