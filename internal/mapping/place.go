package mapping

import (
	"fmt"
	"strings"
	"unicode"
)

// A Place is the place of an object at the destination.
type Place struct {
	Category string // its name; "" if not set
	Folder   string // within the category; "" is the top level
	Name     string // with extension
	Private  *bool  // nil if not set
	Skip     bool   // do not upload it
}

// Place returns the place of an object: otherwise, changed by rules. Errors are like those of Describe.
func (m *Mapping) Place(o Object, otherwise Place) (Place, []Note, error) {
	m = m.usable()
	p, err := m.place(m.read(o), otherwise)
	return p.Place, p.notes, err
}

// A placed builds the place of an object.
type placed struct {
	Place
	notes    []Note
	by       map[string]reason
	matching []*rule
}

// place builds the place of an object that was read.
func (m *Mapping) place(o Object, otherwise Place) (*placed, error) {
	p := &placed{Place: otherwise, by: map[string]reason{}}
	if !m.placesAny() {
		return p, nil
	}
	s := m.see(o)
	defer m.leave(s)
	var err error
	if p.matching, err = m.match(s, (*rule).places); err != nil {
		return p, err
	}
	if p.skip(); p.Skip {
		return p, nil
	}
	for _, word := range placingWords() {
		text, by, err := firstText(s, p.matching, word)
		if err != nil {
			return p, err
		}
		if by == nil {
			continue
		}
		p.by[word] = reason{rule: by}
		if err := m.put(p, word, text, by); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (m *Mapping) placesAny() bool {
	for _, r := range m.rules {
		if r.places() {
			return true
		}
	}
	return false
}

// skip skips the object if the first rule with skip says so.
func (p *placed) skip() {
	for _, r := range p.matching {
		if r.skip == nil {
			continue
		}
		p.by["skip"] = reason{rule: r}
		if p.Skip = *r.skip; p.Skip {
			p.notes = append(p.notes, Note{"skip", r.name() + " skips the object"})
		}
		return
	}
}

// put sets a part of a place from a rule.
func (m *Mapping) put(p *placed, word, text string, by *rule) (err error) {
	switch word {
	case "category":
		if text = p.oneSegment(word, text); text != "" {
			p.Category, err = m.named(p, word, text, p.Category)
		}
	case wordFolder:
		p.Folder, err = m.folder(p, text)
	case "name":
		_, ext := nameOf(p.Name)
		name, _ := nameOf(p.Name)
		if text = p.oneSegment(word, withoutExtension(text, ext)); text != "" {
			name, err = m.named(p, word, text, name)
		}
		p.Name = withExtension(name, ext)
	case "private":
		p.Private, err = yesOrNo(text)
		if err != nil {
			err = by.texts[word].template.fail(0, err.Error())
		}
	}
	return err
}

// named applies the length limit to a name. If the policy omits the name, it returns otherwise.
func (m *Mapping) named(p *placed, field, text, otherwise string) (string, error) {
	fits, note, err := m.fit(field, text, maxName)
	if note != nil {
		p.notes = append(p.notes, *note)
	}
	if fits == "" {
		return otherwise, err
	}
	return fits, err
}

// folder cleans a path: it trims segments and removes empty ones.
func (m *Mapping) folder(p *placed, text string) (string, error) {
	var segments []string
	for segment := range strings.SplitSeq(text, "/") {
		switch segment = strings.TrimSpace(p.printable(wordFolder, segment)); segment {
		case "":
			continue
		case ".", "..":
			p.notes = append(p.notes, Note{wordFolder, fmt.Sprintf("the segment %q is omitted", segment)})
			continue
		}
		fits, note, err := m.fit("a segment of the folder", segment, maxName)
		if note != nil {
			p.notes = append(p.notes, *note)
		}
		if err != nil {
			return "", err
		}
		if fits != "" {
			segments = append(segments, fits)
		}
	}
	return strings.Join(segments, "/"), nil
}

// oneSegment replaces slashes in a name, which would make it several segments.
func (p *placed) oneSegment(field, text string) string {
	text = p.printable(field, text)
	if strings.Contains(text, "/") {
		text = strings.TrimSpace(strings.ReplaceAll(text, "/", "-"))
		p.notes = append(p.notes, Note{field, `"/" became "-"`})
	}
	return text
}

// printable replaces control characters by spaces.
func (p *placed) printable(field, text string) string {
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	p.notes = append(p.notes, Note{field, "control characters became spaces"})
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) }), " ")
}

// withoutExtension removes an extension from a name that already has it.
func withoutExtension(name, ext string) string {
	if base, has := nameOf(name); ext != "" && strings.EqualFold(has, ext) {
		return base
	}
	return name
}

func withExtension(name, ext string) string {
	if ext == "" {
		return name
	}
	return name + "." + ext
}

// yesOrNo parses private; it returns nil for "".
func yesOrNo(text string) (*bool, error) {
	is := false
	switch strings.ToLower(text) {
	case "":
		return nil, nil
	case "true", "yes", "1":
		is = true
	case "false", "no", "0":
	default:
		return nil, fmt.Errorf("private must be true or false, not %q", text)
	}
	return &is, nil
}
