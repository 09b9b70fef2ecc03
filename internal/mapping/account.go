package mapping

import (
	"maps"
	"slices"
	"strings"

	"assetferry/internal/metadata"
)

// Unmapped returns the names of the fields that are not copied to the asset, sorted. It omits fields
// that a rule drops on purpose, dropped GPS coordinates, and technical EXIF data.
func (m *Mapping) Unmapped(o Object) ([]string, error) {
	m = m.usable()
	o = m.read(o)
	d, err := m.describe(o)
	if err != nil {
		return nil, err
	}
	p, err := m.place(o, Place{Name: "unnamed"})
	if err != nil {
		return nil, err
	}
	return d.unmapped(p), nil
}

func (d *description) unmapped(p *placed) []string {
	missed := map[string]bool{}
	for _, fields := range d.object.Found {
		for name := range fields {
			if !metadata.IsTechnical(name) && !d.wentSomewhere(name) && !p.wentSomewhere(name) {
				missed[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(missed))
}

// wentSomewhere reports whether a field is copied to the asset, or dropped on purpose.
func (d *description) wentSomewhere(word string) bool {
	if word == wordOldURL || word == wordCollections && !d.bare || d.isUnsent(word) { // redirect maps use the first
		return true
	}
	if d.describedBy.covers(wordDescription, word) || d.taggedBy.covers(wordTags, word) {
		return true
	}
	for name, by := range d.attributesBy {
		if by.covers(name, word) {
			return true
		}
	}
	for _, r := range d.matching {
		for t := range r.describing {
			if slices.Contains(t.fields(), word) {
				return true
			}
		}
	}
	return false
}

// covers reports whether a field was set from a word, or a rule decided against the word.
func (r reason) covers(field, word string) bool {
	return r.word == word || r.rule != nil && field == word
}

// wentSomewhere reports whether rules use a field for the place of the object, or decide the same part
// of the place without it.
func (p *placed) wentSomewhere(word string) bool {
	if _, decided := p.by[word]; decided {
		return true
	}
	for _, r := range p.matching {
		for t := range r.placing {
			if slices.Contains(t.fields(), word) {
				return true
			}
		}
	}
	return false
}

// A Conflict is a field with different values in several metadata sources.
type Conflict struct {
	Field string
	Said  []Said // by precedence: the first one wins
}

// Said is the value of a field in a metadata source.
type Said struct {
	From  metadata.Source
	Value string
}

// Conflicts returns the fields with different values in several metadata sources, by name. Values are
// in normal form, so invisible differences do not count.
func (m *Mapping) Conflicts(o Object) []Conflict {
	m = m.usable()
	return m.conflicts(m.read(o))
}

func (m *Mapping) conflicts(o Object) []Conflict {
	said := map[string][]Said{}
	for _, from := range m.precedence() {
		for name, values := range o.Found[from] {
			if name != wordOldURL {
				said[name] = append(said[name], Said{from, sameOrder(name, values)})
			}
		}
	}
	var conflicts []Conflict
	for _, word := range sortedKeys(said) {
		all := said[word]
		if slices.ContainsFunc(all, func(s Said) bool { return s.Value != all[0].Value }) {
			conflicts = append(conflicts, Conflict{word, all})
		}
	}
	return conflicts
}

// sameOrder joins values into a text that does not depend on the order of tags or collections.
func sameOrder(word string, values []string) string {
	if word == wordTags || word == wordCollections {
		values = slices.Sorted(slices.Values(values))
	}
	return strings.Join(values, "; ")
}
