package mapping

import (
	"fmt"
	"strings"

	"assetferry/internal/metadata"
)

// A Note is a remark about a field that was changed or omitted.
type Note struct {
	Field string
	What  string
}

func (n Note) String() string { return n.Field + ": " + n.What }

// Describe returns the metadata of an object at the destination in normal form, and notes. The result
// depends on the object only. An error concerns this object: an *EvaluationError or a *LimitError.
func (m *Mapping) Describe(o Object) (metadata.Metadata, []Note, error) {
	m = m.usable()
	d, err := m.describe(m.read(o))
	return d.said, d.notes, err
}

// A description builds the metadata of an object.
type description struct {
	*Mapping
	object   Object
	scope    *scope
	matching []*rule

	said  metadata.Metadata
	notes []Note

	describedBy, taggedBy reason
	attributesBy          map[string]reason
}

// A reason is the rule that set a field, or the default mapping with the field that it used.
type reason struct {
	rule *rule
	word string
	from metadata.Source
}

func (r reason) String() string {
	switch {
	case r.rule != nil:
		return r.rule.name()
	case r.from != "":
		return fmt.Sprintf("default, from %s (%s)", r.word, r.from)
	}
	return ""
}

// describe builds the metadata of an object that was read.
func (m *Mapping) describe(o Object) (*description, error) {
	d := &description{Mapping: m, object: o}
	if len(m.rules) > 0 {
		d.scope = m.see(o)
		defer m.leave(d.scope)
	}
	var err error
	if d.matching, err = m.match(d.scope, (*rule).describes); err != nil {
		return d, err
	}
	if err := d.describe(); err != nil {
		return d, err
	}
	if err := d.tag(); err != nil {
		return d, err
	}
	if err := d.attributesByRules(); err != nil {
		return d, err
	}
	d.collectionsByDefault()
	d.attributesByDefault()
	d.said = d.said.Normal()
	return d, d.limit()
}

// match returns the rules that apply to the object of a scope, among those that matter.
func (m *Mapping) match(s *scope, matters func(*rule) bool) (matching []*rule, err error) {
	for _, r := range m.rules {
		if !matters(r) {
			continue
		}
		is, err := r.is(s)
		if err != nil {
			return nil, err
		}
		if is {
			matching = append(matching, r)
		}
	}
	return matching, nil
}

// describe sets the description: from the first rule that has one, else the default.
func (d *description) describe() error {
	text, by, err := firstText(d.scope, d.matching, wordDescription)
	if err != nil {
		return err
	}
	d.said.Description = text
	switch {
	case by != nil:
		d.describedBy = reason{rule: by}
	case d.bare:
	default:
		d.said.Description, d.describedBy = d.descriptionByDefault()
	}
	return nil
}

func (d *description) descriptionByDefault() (string, reason) {
	for _, word := range []string{wordDescription, wordAlt} {
		if values, from := d.first(d.object.Found, word); len(values) > 0 {
			return joined(values), reason{word: word, from: from}
		}
	}
	return "", reason{}
}

// firstText returns the text of the first rule that has a value for a word, and the rule, or nil.
func firstText(s *scope, rules []*rule, word string) (string, *rule, error) {
	for _, r := range rules {
		o, ok := r.texts[word]
		if !ok {
			continue
		}
		text, err := o.text(s)
		if err != nil {
			return "", r, err
		}
		if text != "" || o.template == nil || word == wordFolder { // an empty folder is a value: the top level
			return text, r, nil
		}
	}
	return "", nil, nil
}

func (o outcome) text(s *scope) (string, error) {
	if o.template == nil {
		return "", nil
	}
	return o.template.text(s)
}

// attributesByRules sets the attributes of rules.
func (d *description) attributesByRules() error {
	for _, r := range d.matching {
		for _, name := range sortedKeys(r.attributes) { // in order, so that each run reports the same error
			if d.isDecided(name) {
				continue
			}
			text, err := r.attributes[name].text(d.scope)
			if err != nil {
				return err
			}
			if text != "" || r.attributes[name].template == nil {
				d.set(name, text, reason{rule: r})
			}
		}
	}
	return nil
}

// isDecided reports whether a rule set or omitted an attribute.
func (d *description) isDecided(attribute string) bool {
	_, is := d.attributesBy[attribute]
	return is
}

func (d *description) set(attribute, text string, by reason) {
	if d.attributesBy == nil {
		d.attributesBy, d.said.Attributes = map[string]reason{}, map[string]string{}
	}
	d.attributesBy[attribute] = by
	if text != "" {
		d.said.Attributes[attribute] = text
	}
}

// attributesByDefault sets the attributes without a rule: those of our words that are attributes, and
// all fields with names of users.
func (d *description) attributesByDefault() {
	if d.bare {
		return
	}
	for from, fields := range d.object.Found {
		for name := range fields {
			attribute := attributeOf(name)
			if !d.isDecided(attribute) && becomesAttribute(name, from) && !d.isUnsent(name) {
				d.setByDefault(attribute)
			}
		}
	}
}

// setByDefault sets an attribute from the first metadata source that has it: in its attributes, or else
// as a field of the name.
func (d *description) setByDefault(attribute string) {
	for _, from := range d.precedence() {
		for _, name := range [...]string{amongAttributes + attribute, attribute} {
			if values := d.object.Found[from][name]; len(values) > 0 && becomesAttribute(name, from) {
				d.set(attribute, joined(values), reason{word: name, from: from})
				return
			}
		}
	}
}

// amongAttributes is the prefix of a custom attribute whose name has another meaning, in sidecars and in
// environments as sources.
const amongAttributes = "attributes."

// attributeOf returns the name of the custom attribute for a field.
func attributeOf(name string) string { return strings.TrimPrefix(name, amongAttributes) }

// isUnsent reports whether a rule keeps a field from becoming an attribute by default.
func (d *description) isUnsent(name string) bool {
	for _, r := range d.matching {
		for _, unsent := range r.unsent {
			if begin, more := strings.CutSuffix(unsent, "*"); name == unsent || more && strings.HasPrefix(name, begin) {
				return true
			}
		}
	}
	return false
}

// becomesAttribute reports whether a field becomes an attribute by default.
func becomesAttribute(name string, from metadata.Source) bool {
	return isAttributeWord(name) || isNamed(from) && !isWord(name) && attributeOf(name) != metadata.Provenance
}
