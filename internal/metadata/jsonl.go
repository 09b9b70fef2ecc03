package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/tabular"
)

// fromJSON returns the row of a line. Values may be strings, numbers, booleans and lists of these.
func (t *Table) fromJSON(from tabular.Row) (row, error) {
	var is map[string]json.RawMessage
	if err := from.Decode(&is); err != nil {
		return row{}, err
	}
	line := jsonLine{of: t, from: from, fields: Fields{}, called: map[by]string{}}
	for _, written := range slices.Sorted(maps.Keys(is)) {
		if err := line.say(written, is[written]); err != nil {
			return row{}, err
		}
	}
	as := byKey
	for _, other := range [...]by{byChecksum, byOldURL, byKey} { // the last one has precedence
		if line.called[other] != "" {
			as = other
		}
	}
	called := line.called[as]
	r, wrong := t.knownBy(as, strings.Join(line.fields[called], "\n"))
	if wrong != "" {
		return row{}, line.mistake(called, wrong)
	}
	delete(line.fields, called)
	if r.fields = line.fields.Normal(); t.collections {
		if r.fields = (Fields{Collections: r.fields[Collections]}); len(r.fields[Collections]) == 0 {
			return row{}, line.mistake("", "the collection is missing")
		}
	}
	return r, nil
}

// A jsonLine collects the fields of a line.
type jsonLine struct {
	of     *Table
	from   tabular.Row
	fields Fields
	called map[by]string // the fields that may identify the object
}

// say adds a field.
func (l *jsonLine) say(written string, value json.RawMessage) error {
	is, by := l.of.meaningOf(strings.TrimSpace(written))
	if l.of.collections && by == "" && is != Collections {
		return nil
	}
	if written == attributes && value[0] == '{' {
		return l.attributes(value)
	}
	values, wrong := valuesOf(value)
	if wrong == "" {
		wrong = wrongField(is)
	}
	if _, twice := l.fields[is]; twice && wrong == "" {
		wrong = fmt.Sprintf("duplicate field %q", is)
	}
	if wrong != "" {
		return l.mistake(written, wrong)
	}
	if is == "tags" && value[0] == '"' {
		values = SplitTags(values[0])
	}
	if is == Collections && value[0] == '"' && !l.of.collections {
		values = SplitCollections(values[0])
	}
	l.fields[is] = values
	if by != "" && l.called[by] == "" && len(values) > 0 {
		l.called[by] = is
	}
	return nil
}

// attributes adds custom attributes. They keep their names unless we use the name for another field.
func (l *jsonLine) attributes(object json.RawMessage) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return l.mistake(attributes, "not JSON: "+err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values, wrong := valuesOf(all[name])
		is := strings.TrimSpace(name)
		if isMeantOtherwise(is) {
			is = attributes + "." + is
		}
		if wrong == "" {
			wrong = wrongField(is)
		}
		if wrong != "" {
			return l.mistake(name, wrong)
		}
		l.fields[is] = values
	}
	return nil
}

// mistake returns a mistake at the name of a field.
func (l *jsonLine) mistake(written, what string) error {
	m := l.from.Mistake(0, what)
	if name, err := json.Marshal(written); err == nil && written != "" {
		m.Column += max(bytes.Index(l.from.JSON, name), 0)
	}
	return m
}

// valuesOf returns the texts of a value, or the mistake in it.
func valuesOf(value json.RawMessage) (texts []string, wrong string) {
	var list []json.RawMessage
	switch value[0] {
	case '{':
		return nil, "a text is required, not an object; only attributes is an object"
	case '[':
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, "not JSON: " + err.Error()
		}
	default:
		list = append(list, value)
	}
	for _, v := range list {
		switch v[0] {
		case '{', '[':
			return nil, "a list may contain only strings, numbers, true and false"
		case 'n': // null is no value
		case '"':
			var text string
			if err := json.Unmarshal(v, &text); err != nil {
				return nil, "not JSON: " + err.Error()
			}
			texts = append(texts, text)
		default:
			texts = append(texts, string(v))
		}
	}
	return texts, ""
}
