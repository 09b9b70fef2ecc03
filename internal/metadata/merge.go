package metadata

import (
	"maps"
	"slices"
)

// A Policy decides about fields that changed at the source and at the destination.
type Policy string

// The policies.
const (
	Keep      Policy = "keep"      // keep the value at the destination
	Overwrite Policy = "overwrite" // the source wins, even if it has not changed
	Report    Policy = "report"    // a conflict, until a user decides
)

// Changes are the fields to write. A field that is nil or missing stays as it is.
type Changes struct {
	Description *string
	Tags        []string          // the complete new list
	Attributes  map[string]string // only the changed ones
}

// IsZero reports whether there is nothing to write.
func (c Changes) IsZero() bool {
	return c.Description == nil && c.Tags == nil && len(c.Attributes) == 0
}

// A Merged is the result of Merge.
type Merged struct {
	Changes   Changes
	Kept      []string // fields that changed at the source, but keep an edit at the destination
	Conflicts []string // the same fields, with the policy Report
}

// Merge decides for each field whether it is written into an asset. base is the metadata of the last
// update, or zero; a difference between base and destination is an edit. An empty field of the source
// changes nothing. Tags are merged and never removed. base and source must be in normal form;
// destination is as the service returns it.
func Merge(base, source, destination Metadata, p Policy) Merged {
	var m Merged
	if m.decide("description", base.Description, source.Description, destination.Description, p) {
		m.Changes.Description = &source.Description
	}
	for _, name := range slices.Sorted(maps.Keys(source.Attributes)) {
		value := source.Attributes[name]
		if !m.decide(name, base.Attributes[name], value, destination.Attributes[name], p) {
			continue
		}
		if m.Changes.Attributes == nil {
			m.Changes.Attributes = map[string]string{}
		}
		m.Changes.Attributes[name] = value
	}
	m.Changes.Tags = unite(base.Tags, source.Tags, destination.Tags, p)
	return m
}

// decide reports whether a field is written. If the source changed and it is not, it records the field.
func (m *Merged) decide(field, base, source, destination string, p Policy) bool {
	destination = normal(destination)
	switch {
	case source == "", source == destination:
		return false
	case destination == base, p == Overwrite:
		return true
	case source == base: // only the destination changed
		return false
	case p == Report:
		m.Conflicts = append(m.Conflicts, field)
		return false
	}
	m.Kept = append(m.Kept, field)
	return false
}

// unite returns the new tags of an asset, or nil if nothing changes. A tag in base that is missing at the
// destination was removed by a user.
func unite(base, source, destination []string, p Policy) []string {
	has := map[string]bool{}
	for _, t := range destination {
		has[normal(t)] = true
	}
	if p != Overwrite {
		for _, t := range base {
			has[t] = true
		}
	}
	united := slices.Clone(destination)
	for _, t := range source {
		if !has[t] {
			united = append(united, t)
		}
	}
	if len(united) == len(destination) {
		return nil
	}
	return united
}
