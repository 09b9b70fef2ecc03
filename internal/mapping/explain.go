package mapping

import (
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/metadata"
	"assetferry/internal/sorting"
)

// An Explanation is the result of a mapping for one object, with reasons.
type Explanation struct {
	Key       string
	Seen      []Seen    // its metadata, by name
	Rules     []Applied // every rule, in order
	Goes      Place
	Said      metadata.Metadata
	Place     []Outcome // the parts of its place
	Describe  []Outcome // its metadata at the destination
	Notes     []Note
	Unmapped  []string
	Conflicts []Conflict
	Err       error // a rule fails for the object, or a text is too long; the other fields are incomplete then
}

// Seen is a field of a metadata source.
type Seen struct {
	Field, Value string
	From         metadata.Source
	Counts       bool // it is the first one
}

// Applied is a rule, and whether it applies to the object.
type Applied struct {
	Rule string // its name
	Is   bool
	Err  error // the condition fails
}

// An Outcome is the value of a field at the destination, and the reason.
type Outcome struct {
	Field, Value string // the value is "" if the field is omitted
	Why          string
}

// Explain returns the result for an object, with reasons. otherwise is its place without rules.
func (m *Mapping) Explain(o Object, otherwise Place) Explanation {
	m = m.usable()
	o = m.read(o)
	e := Explanation{Key: o.Key, Seen: m.seen(o), Rules: m.applied(o), Conflicts: m.conflicts(o)}
	p, err := m.place(o, otherwise)
	if e.Err = err; err != nil {
		return e
	}
	e.Goes, e.Place, e.Notes = p.Place, p.outcomes(), p.notes
	if p.Skip {
		return e
	}
	d, err := m.describe(o)
	e.Notes = append(e.Notes, d.notes...)
	if e.Err = err; err != nil {
		return e
	}
	e.Said, e.Describe, e.Unmapped = d.said, d.outcomes(), d.unmapped(p)
	return e
}

func (m *Mapping) seen(o Object) (all []Seen) {
	for _, from := range m.precedence() {
		for name, values := range o.Found[from] {
			_, counts := m.first(o.Found, name)
			all = append(all, Seen{name, joined(values), from, counts == from})
		}
	}
	order := m.precedence()
	sorting.By(all, func(a, b Seen) int {
		if a.Field != b.Field {
			return strings.Compare(a.Field, b.Field)
		}
		return slices.Index(order, a.From) - slices.Index(order, b.From)
	})
	return all
}

func (m *Mapping) applied(o Object) (all []Applied) {
	if len(m.rules) == 0 {
		return nil
	}
	s := m.see(o)
	defer m.leave(s)
	for _, r := range m.rules {
		is, err := r.is(s)
		all = append(all, Applied{r.name(), is, err})
	}
	return all
}

// outcomes returns the parts of a place with reasons.
func (p *placed) outcomes() []Outcome {
	if p.Skip {
		return []Outcome{{"skip", "true", p.by["skip"].String()}}
	}
	all := []Outcome{{"category", p.Category, p.why("category")}, {wordFolder, p.Folder, p.why(wordFolder)}, {"name", p.Name, p.why("name")}}
	if p.Private != nil {
		all = append(all, Outcome{"private", fmt.Sprint(*p.Private), p.why("private")})
	}
	return all
}

func (p *placed) why(word string) string {
	if by := p.by[word]; by.rule != nil {
		return by.String()
	}
	if word == "category" && p.Category == "" {
		return "no rule: by extension or folder"
	}
	return "no rule"
}

// outcomes returns the metadata of the object with reasons.
func (d *description) outcomes() []Outcome {
	all := []Outcome{{wordDescription, d.said.Description, d.describedBy.String()}, {wordTags, strings.Join(d.said.Tags, ", "), d.taggedWhy()}}
	for _, name := range sortedKeys(d.attributesBy) {
		all = append(all, Outcome{"attribute " + name, d.said.Attributes[strings.TrimSpace(name)], d.attributesBy[name].String()})
	}
	return slices.DeleteFunc(all, func(o Outcome) bool { return o.Value == "" && o.Why == "" })
}

// taggedWhy returns the reason for the tags, and the rules that changed them.
func (d *description) taggedWhy() string {
	why := []string{}
	if by := d.taggedBy.String(); by != "" {
		why = append(why, by)
	}
	if _, from := d.first(d.object.Found, wordCollections); len(d.collectionTags()) > 0 {
		why = append(why, reason{word: wordCollections, from: from}.String())
	}
	for _, r := range d.matching {
		if r.changesTags() && r != d.taggedBy.rule {
			why = append(why, r.name())
		}
	}
	return strings.Join(why, ", then ")
}

// changesTags reports whether a rule changes the tags of another rule or of the default.
func (r *rule) changesTags() bool { return len(r.add)+len(r.drop)+len(r.rename)+len(r.split) > 0 }
