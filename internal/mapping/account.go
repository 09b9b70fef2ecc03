package mapping

import (
	"maps"
	"slices"
	"strings"

	"assetferry/internal/metadata"
)

// Unmapped returns the names of the fields without a rule, sorted. It omits fields that a rule
// leaves out on purpose, dropped GPS coordinates, and technical EXIF data.
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

// wentSomewhere reports whether a field is in what describes the object, or was left out
// on purpose.
func (d *description) wentSomewhere(word string) bool {
	if word == wordAddress || d.isUnsent(word) { // the map of addresses has the first
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

// covers reports whether a field was decided from a word, or against it.
func (r reason) covers(field, word string) bool {
	return r.word == word || r.rule != nil && field == word
}

// wentSomewhere reports whether rules made something of a field to say where the object
// goes, or decided what it says of that by themselves.
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

// A Conflict is a field of which origins say different things.
type Conflict struct {
	Field string
	Said  []Said // by precedence: the first one counts
}

// Said is what an origin says of a field.
type Said struct {
	From  metadata.Source
	Value string
}

// Conflicts gives the fields of which origins say different things, by name. What was
// found is in normal form, so only what differs to a reader does so here.
func (m *Mapping) Conflicts(o Object) []Conflict {
	m = m.usable()
	return m.conflicts(m.read(o))
}

func (m *Mapping) conflicts(o Object) []Conflict {
	said := map[string][]Said{}
	for _, from := range m.precedence() {
		for name, values := range o.Found[from] {
			if name != wordAddress {
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

// sameOrder makes one text of values, of which the order of tags does not matter.
func sameOrder(word string, values []string) string {
	if word == wordTags {
		values = slices.Sorted(slices.Values(values))
	}
	return strings.Join(values, "; ")
}
