package mapping

import "slices"

// describing yields the templates of a rule for metadata.
func (r *rule) describing(yield func(*template) bool) {
	all := slices.Concat(r.add, r.drop)
	if r.tags != nil {
		all = append(all, r.tags.templates...)
	}
	for _, o := range r.attributes {
		all = append(all, o.template)
	}
	all = append(all, r.texts[wordDescription].template)
	for _, t := range all {
		if t != nil && !yield(t) {
			return
		}
	}
}

// placing yields the templates of a rule for the place.
func (r *rule) placing(yield func(*template) bool) {
	for _, word := range placingWords() {
		if t := r.texts[word].template; t != nil && !yield(t) {
			return
		}
	}
}

// expressions yields every expression of a rule, including its condition.
func (r *rule) expressions(yield func(*expression) bool) {
	if r.when != nil && !yield(r.when) {
		return
	}
	for _, templates := range []func(func(*template) bool){r.describing, r.placing} {
		for t := range templates {
			for _, p := range t.parts {
				if p.expression != nil && !yield(p.expression) {
					return
				}
			}
		}
	}
}

// describes reports whether a rule affects metadata.
func (r *rule) describes() bool {
	_, description := r.texts[wordDescription]
	return description || r.tags != nil || len(r.add)+len(r.drop)+len(r.rename)+len(r.split)+len(r.attributes)+len(r.unsent) > 0
}

// places reports whether a rule affects the place.
func (r *rule) places() bool {
	if r.skip != nil {
		return true
	}
	for _, word := range placingWords() {
		if _, ok := r.texts[word]; ok {
			return true
		}
	}
	return false
}

// mentions reports whether a variable is in an expression of a rule.
func (r *rule) mentions(name string) bool {
	for e := range r.expressions {
		if slices.Contains(e.names, name) {
			return true
		}
	}
	return false
}

// PlaceNeedsMetadata reports whether rules for the place need the metadata of an object.
func (m *Mapping) PlaceNeedsMetadata() bool {
	for _, r := range m.usable().rules {
		if !r.places() {
			continue
		}
		if r.when != nil && len(r.when.fields) > 0 {
			return true
		}
		for t := range r.placing {
			if len(t.fields()) > 0 {
				return true
			}
		}
	}
	return false
}

// Keeps reports whether the mapping uses a field, under its own or under our name. Other fields need not
// be kept: a camera writes dozens.
func (m *Mapping) Keeps(field string) bool {
	m = m.usable()
	word := m.Word(field)
	if word == wordOldURL || !m.bare && !isPlacingWord(word) && !isEmbeddedName(word) {
		return true
	}
	for _, r := range m.rules {
		for e := range r.expressions {
			if slices.Contains(e.fields, field) || slices.Contains(e.fields, word) {
				return true
			}
		}
	}
	return false
}
