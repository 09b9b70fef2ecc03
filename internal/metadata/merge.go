package metadata

import (
	"maps"
	"slices"
)

// A Policy says what happens where people changed at the destination what the source
// changed, too.
type Policy string

// The policies.
const (
	Keep      Policy = "keep"      // what people wrote stays
	Overwrite Policy = "overwrite" // the source wins, also where it has not changed
	Report    Policy = "report"    // nobody wins until somebody decides
)

// Changes are what is to be written; what is nil or not named stays as it is.
type Changes struct {
	Description *string
	Tags        []string          // all of them, as they are to be
	Attributes  map[string]string // these and no others
}

// IsZero reports whether nothing is to be written.
func (c Changes) IsZero() bool {
	return c.Description == nil && c.Tags == nil && len(c.Attributes) == 0
}

// A Merged is what becomes of the metadata of an asset.
type Merged struct {
	Changes   Changes
	Kept      []string // fields in which the source has news, and people's edit stays
	Conflicts []string // the same, where somebody has to decide
}

// Merge decides field by field what is written into an asset. Base is what the source said
// when the asset was described last, or nothing; an edit of people is what differs from
// that. An empty field of the source changes nothing, tags are united, and no tag is ever
// taken away. Base and source are in normal form, the destination is as the service has it.
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

// decide reports whether a field is written, and notes it otherwise if the source has news.
func (m *Merged) decide(field, base, source, destination string, p Policy) bool {
	destination = normal(destination)
	switch {
	case source == "", source == destination:
		return false
	case destination == base, p == Overwrite:
		return true
	case source == base: // only people changed it
		return false
	case p == Report:
		m.Conflicts = append(m.Conflicts, field)
		return false
	}
	m.Kept = append(m.Kept, field)
	return false
}

// unite returns the tags that an asset is to have, nil if it has them. A tag that the source
// gave before and that is not there was taken away by people.
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
