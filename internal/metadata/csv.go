package metadata

import (
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/rows"
)

// Columns are what the fields of a CSV table mean.
type columns struct {
	names                  []string
	key, description, tags int // -1 if there is none
}

// columnsOf gives the columns of a table their meaning by their names. That of the key may go
// by another name, if somebody knows which.
func columnsOf(f *rows.File, word func(string) string) (columns, error) {
	c := columns{names: f.Columns(), key: -1, description: -1, tags: -1}
	known := map[string]*int{"key": &c.key, "description": &c.description, "tags": &c.tags}
	for n, name := range c.names {
		meaning := known[strings.ToLower(name)]
		if word != nil && word(name) == "key" {
			meaning = &c.key
		}
		wrong := wrongAttribute(name)
		if meaning != nil && *meaning >= 0 || slices.Contains(c.names[:n], name) {
			wrong = fmt.Sprintf("there are two columns %q", name)
		}
		if wrong != "" {
			return c, f.HeaderMistake(n, wrong)
		}
		if meaning != nil {
			*meaning = n
		}
	}
	if c.key < 0 {
		return c, &rows.Mistake{Line: 1, Column: 1, What: "the header has no column called key"}
	}
	return c, nil
}

// row makes a row of its cells.
func (c columns) row(r rows.Row) (row, error) {
	e := row{key: rowKey(r.Cells[c.key]), metadata: c.metadata(r.Cells)}
	if e.key == "" {
		return row{}, r.Mistake(c.key, noKey)
	}
	return e, nil
}

func (c columns) metadata(fields []string) Metadata {
	m := Metadata{}
	for n, field := range fields {
		switch {
		case n == c.description:
			m.Description = field
		case n == c.tags: // a tag with one of these in it takes a table of JSON
			m.Tags = strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' })
		case field != "" && n != c.key:
			m.set(c.names[n], field)
		}
	}
	return m.Normal()
}
