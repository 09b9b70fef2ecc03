package metadata

import (
	"fmt"
	"strings"

	"assetferry/internal/tabular"
)

// columns maps the fields of a CSV table to metadata.
type columns struct {
	names []string
	by    by
	known int // index of the column that identifies the object
}

// columnsOf returns the meanings of the columns of a table, by the header.
func (t *Table) columnsOf(f *tabular.File) (columns, error) {
	c := columns{}
	at, seen := map[by]int{}, map[string]bool{}
	for n, written := range f.Columns() {
		is, by := t.meaningOf(written)
		if t.collections && by == "" && is != Collections {
			c.names = append(c.names, "")
			continue
		}
		wrong := wrongField(is)
		if seen[is] {
			wrong = fmt.Sprintf("duplicate column %q", is)
		}
		if wrong != "" {
			return c, f.HeaderMistake(n, wrong)
		}
		if _, also := at[by]; by != "" && !also {
			at[by] = n
		}
		c.names, seen[is] = append(c.names, is), true
	}
	if t.collections && !seen[Collections] {
		return c, &tabular.Mistake{Line: 1, Column: 1, What: "the header needs a column collection"}
	}
	for _, c.by = range [...]by{byKey, byOldURL, byChecksum} {
		if n, ok := at[c.by]; ok {
			c.known = n
			return c, nil
		}
	}
	return c, &tabular.Mistake{Line: 1, Column: 1, What: "the header needs a column key, old_url or sha256"}
}

// fromCSV returns the row of a line.
func (t *Table) fromCSV(c columns, from tabular.Row) (row, error) {
	r, wrong := t.knownBy(c.by, from.Cells[c.known])
	if wrong != "" {
		return row{}, from.Mistake(c.known, wrong)
	}
	fields := Fields{}
	for n, cell := range from.Cells {
		switch {
		case n == c.known || c.names[n] == "":
		case c.names[n] == Collections && t.collections:
			if strings.TrimSpace(cell) == "" {
				return row{}, from.Mistake(n, "the collection is missing")
			}
			fields[Collections] = []string{strings.Clone(cell)}
		case c.names[n] == Collections:
			fields[Collections] = SplitCollections(strings.Clone(cell))
		case c.names[n] == "tags":
			fields["tags"] = SplitTags(cell)
		case cell != "":
			fields[c.names[n]] = []string{strings.Clone(cell)} // the reader reuses its memory
		}
	}
	r.fields = fields.Normal()
	return r, nil
}
