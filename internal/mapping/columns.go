package mapping

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/metadata"
	"assetferry/internal/sorting"
)

// A column maps the name of a field elsewhere to our name.
type column struct{ name, word string }

// columns are the names of fields elsewhere.
type columns struct {
	order []column
	words map[string]int // the index by name
}

func newColumns(all []column) columns {
	c := columns{order: all, words: map[string]int{}}
	for n, one := range all {
		if _, again := c.words[one.name]; !again { // user columns come before those of templates
			c.words[one.name] = n
		}
	}
	return c
}

// find returns the column with a name, and its index. A type after the name, as in
// "dc:title {{String}}", is ignored and removed.
func (c columns) find(name string) (is column, order int, ok bool) {
	if n, ok := c.words[name]; ok {
		return c.order[n], n, true
	}
	plain, _, typed := strings.Cut(name, "{{")
	if !typed || len(c.order) == 0 {
		return column{}, 0, false
	}
	plain = strings.TrimSpace(plain)
	if n, ok := c.words[plain]; ok {
		return c.order[n], n, true
	}
	return column{name, plain}, len(c.order), true
}

// Word returns our name for a column of a table, which is usually the same. Besides metadata fields it
// may be key, old_url, path, size, modified, checksum or content_type, which identify the object of a
// row.
func (m *Mapping) Word(name string) string {
	if c, _, ok := m.usable().columns.find(name); ok {
		return c.word
	}
	return name
}

// findsRows reports whether a word identifies the object of a row, and is no metadata.
func findsRows(word string) bool {
	return slices.Contains([]string{"key", "path", "size", "modified", "checksum", "content_type"}, word)
}

// isNamed reports whether users choose the field names of a metadata source, so that columns apply.
func isNamed(from metadata.Source) bool {
	return from == metadata.FromTable || from == metadata.FromSidecar || from == metadata.FromStorage
}

// read returns an object as rules see it: with our field names, and without GPS coordinates if these
// are dropped.
func (m *Mapping) read(o Object) Object {
	if len(m.columns.order) == 0 && !m.options.DropGPS {
		return o
	}
	found := maps.Clone(o.Found)
	for from, fields := range found {
		if isNamed(from) {
			fields = m.columns.rename(fields)
		}
		if m.options.DropGPS {
			fields = withoutPosition(fields)
		}
		found[from] = fields
	}
	o.Found = found
	return o
}

// OldURLs returns the old URLs in the metadata of an object.
func (m *Mapping) OldURLs(o Object) (all []string) {
	m = m.usable()
	o = m.read(o)
	for _, from := range m.precedence() {
		all = append(all, o.Found[from][wordOldURL]...)
	}
	return all
}

// rename returns fields with our names. If several have the same meaning, tags, collections and URLs are joined. For
// other fields, one with our name wins, then the first column.
func (c columns) rename(fields metadata.Fields) metadata.Fields {
	var known []knownField
	for name, values := range fields {
		if is, order, ok := c.find(name); ok {
			known = append(known, knownField{name, is.word, order, values})
		}
	}
	if len(known) == 0 {
		return fields
	}
	sorting.By(known, func(a, b knownField) int { return cmp.Or(a.order-b.order, strings.Compare(a.name, b.name)) })
	renamed := maps.Clone(fields)
	for _, k := range known {
		delete(renamed, k.name)
	}
	for n, k := range known {
		if k.word == wordCollections {
			known[n].values = metadata.SplitCollections(strings.Join(k.values, ";"))
		}
	}
	for _, k := range known {
		switch {
		case findsRows(k.word):
		case renamed[k.word] == nil:
			renamed[k.word] = k.values
		case k.word == wordTags || k.word == wordCollections || k.word == wordOldURL:
			renamed[k.word] = slices.Concat(renamed[k.word], k.values)
		}
	}
	return renamed
}

// A knownField is a field with another name elsewhere.
type knownField struct {
	name, word string
	order      int // of its column
	values     []string
}

func withoutPosition(fields metadata.Fields) metadata.Fields {
	kept := maps.Clone(fields)
	maps.DeleteFunc(kept, func(name string, _ []string) bool { return isPosition(name) })
	return kept
}
