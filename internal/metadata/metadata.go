// Package metadata is what describes an object: where it is found, in which form it is
// compared and kept, and what becomes of it where people have edited an asset meanwhile.
//
// A source of metadata answers for one key at a time and reads no content, so that a
// night in which only descriptions changed costs no bytes. [Table] is one: a file that
// the user gives; sidecars are another, see [ReadSidecar]. What is embedded in the content
// itself is taken out of it while it is sent, see [Capture], or read where it is, see
// [Embedded]. What any of them gives is in normal form, see [Metadata.Normal] and
// [Fields.Normal], so that two are the same if they encode to the same text.
package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// MaxDescription is how many characters the service takes as a description.
const MaxDescription = 1024

// Provenance is the custom attribute in which we note where an asset comes from. No
// source of metadata can give it.
const Provenance = "assetferry"

// Metadata describes an object. A field that is empty says nothing: it does not say that
// there is no description.
type Metadata struct {
	Description string            `json:"description,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"` // custom attributes
}

// IsZero reports whether nothing is said.
func (m Metadata) IsZero() bool {
	return m.Description == "" && len(m.Tags) == 0 && len(m.Attributes) == 0
}

// Normal returns metadata in the form in which it is compared: text without space around it
// and in Unicode form C, lines ended by a line feed, each tag once and in order, and no
// attribute without a value.
func (m Metadata) Normal() Metadata {
	n := Metadata{Description: normal(m.Description)}
	for _, t := range m.Tags {
		if t = normal(t); t != "" {
			n.Tags = append(n.Tags, t)
		}
	}
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) { // of names that become the same, always the same one wins
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

// Over lays metadata over what was known before. An empty field overrules nothing, and
// neither does an attribute that is not named any more.
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

// Encode returns metadata in normal form as JSON, empty if it says nothing. The same
// metadata is always the same text.
func (m Metadata) Encode() string {
	if m.IsZero() {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // there is nothing in it but text
	}
	return string(text)
}

// Decode reads what Encode gave.
func Decode(text string) (m Metadata, err error) {
	if text == "" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Metadata{}, fmt.Errorf("read metadata: %w", err)
	}
	return m, nil
}
