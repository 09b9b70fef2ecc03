// Package metadata reads the metadata of objects, defines the form in which it is compared and stored, and
// merges it with edits at the destination.
//
// Tables and sidecars are read by key without the content, so a run in which only metadata changed does
// not download content: see [Table] and [ReadSidecar]. Embedded metadata is read during the upload, see
// [Capture], or by random access, see [Embedded]. All results are in normal form, see [Metadata.Normal]
// and [Fields.Normal]: two are equal if they encode to the same text.
package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// MaxDescription is the maximum number of characters in a description.
const MaxDescription = 1024

// Provenance is the custom attribute with the source of an asset. No metadata source can set it.
const Provenance = "assetferry"

// Metadata is the metadata of an object at the destination. An empty field is unknown and does not clear
// the field of an asset.
type Metadata struct {
	Description string            `json:"description,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"` // custom attributes
}

// IsZero reports whether all fields are empty.
func (m Metadata) IsZero() bool {
	return m.Description == "" && len(m.Tags) == 0 && len(m.Attributes) == 0
}

// Normal returns metadata in the form for comparison: trimmed text in Unicode form C with line feeds,
// sorted tags without duplicates, and no empty attributes.
func (m Metadata) Normal() Metadata {
	n := Metadata{Description: normal(m.Description)}
	for _, t := range m.Tags {
		if t = normal(t); t != "" {
			n.Tags = append(n.Tags, t)
		}
	}
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) { // in order, so that the result is stable if names become the same
		if value := normal(m.Attributes[name]); value != "" {
			n.set(normal(name), value)
		}
	}
	return n
}

func (m *Metadata) set(attribute, value string) {
	if m.Attributes == nil {
		m.Attributes = map[string]string{}
	}
	m.Attributes[attribute] = value
}

func normal(s string) string {
	return norm.NFC.String(strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n"))
}

// Over returns before, with the fields of m that are not empty. Attributes that m lacks stay.
func (m Metadata) Over(before Metadata) Metadata {
	over := Metadata{Description: before.Description, Tags: before.Tags, Attributes: before.Attributes}
	if m.Description != "" {
		over.Description = m.Description
	}
	if len(m.Tags) > 0 {
		over.Tags = m.Tags
	}
	if len(m.Attributes) > 0 {
		over.Attributes = map[string]string{}
		maps.Copy(over.Attributes, before.Attributes)
		maps.Copy(over.Attributes, m.Attributes)
	}
	return over
}

// Encode returns metadata in normal form as JSON, or "" if it is zero. Equal metadata has the same text.
func (m Metadata) Encode() string {
	if m.IsZero() {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // it contains only texts
	}
	return string(text)
}

// Decode parses the result of Encode.
func Decode(text string) (m Metadata, err error) {
	if text == "" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Metadata{}, fmt.Errorf("decode metadata: %w", err)
	}
	return m, nil
}
